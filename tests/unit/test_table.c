/* Tables of results: each writer, with words that it must quote, and what is missing. */
#include <math.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"
#include "tuner/common/table_data.h"

static const struct mmt_column columns[] = { { "kind, \"quoted\"", "", 0 },
                                             { "n", "", 0 },
                                             { "t", "ms", 3 } };

static struct mmt_table make_table(void)
{
    struct mmt_table table = mmt_table_start("a title", columns, 3);
    mmt_table_add(&table, (struct mmt_cell[]){ MMT_WORD("it's, so"), MMT_NUMBER(8),
                                               MMT_NUMBER(0.125) });
    mmt_table_add(
        &table, (struct mmt_cell[]){ MMT_WORD("<b>"), MMT_NUMBER(12), MMT_NUMBER(NAN) });
    return table;
}

static void check_text(struct mmt_table table, int indent, int width, const char *wanted)
{
    struct mmt_text text = { 0 };
    mmt_table_add_text(&table, indent, width, &text);
    CHECK_EQ_STR(mmt_text_string(&text), wanted);
    mmt_text_finish(&text);
    mmt_table_free(&table);
}

static struct mmt_table make_words(const char *heads, const char *first,
                                   const char *second)
{
    struct mmt_table table = mmt_table_of("", heads);
    for (int i = 0; i < 2; i++) {
        struct mmt_text row = { 0 };
        mmt_text_add(&row, i ? second : first);
        mmt_table_take(&table, &row);
        CHECK(!row.data);
    }
    table.columns[0].most = 5;
    return table;
}

static void test_text(void)
{
    check_text(make_table(), 0, 0,
               "\na title\n"
               "kind, \"quoted\"   n      t\n"
               "                       ms\n"
               "it's, so         8  0.125\n"
               "<b>             12      -\n");
    check_text(mmt_table_of("none", "a\t>b"), 2, 80, "\nnone\n  a  b\n");
    check_text(make_words("name\t>time\tkernel", "a\t9 us\tx", "longer\t10 us\ty Z=1"), 1,
               0,
               " name    time  kernel\n"
               " a       9 us  x\n"
               " longer\n"
               "        10 us  y Z=1\n");
    check_text(make_words("\t", "a\tone two three", "b\t\tleft"), 2, 12,
               "  a  one two\n"
               "     three\n"
               "  b  \tleft\n");
}

static void test_html(void)
{
    struct mmt_table table = make_table();
    struct mmt_text page = { 0 };
    mmt_table_add_html(&table, &page);
    CHECK_EQ_STR(mmt_text_string(&page),
                 "<div class=\"wide\"><table><caption>a title</caption>"
                 "<tr><th>kind, &quot;quoted&quot;</th><th>n</th><th>t</th></tr>\n"
                 "<tr><th></th><th></th><th>ms</th></tr>\n"
                 "<tr><th scope=\"row\">it's, so</th><td class=\"number\">8</td>"
                 "<td class=\"number\">0.125</td></tr>\n"
                 "<tr><th scope=\"row\">&lt;b&gt;</th><td class=\"number\">12</td>"
                 "<td class=\"number\">-</td></tr>\n"
                 "</table></div>\n");
    mmt_text_finish(&page);
    mmt_table_free(&table);
}

static void check_file(const char *name, const char *wanted)
{
    char text[1024] = "";
    FILE *file = fopen(in_folder(name), "rb");
    CHECK(file && fread(text, 1, sizeof text - 1, file) > 0);
    CHECK_EQ_STR(text, wanted);
    if (file)
        fclose(file);
}

static void test_files(void)
{
    mmt_error err = { 0 };
    struct mmt_table table = make_table();
    make_folder();
    CHECK_OK(mmt_table_save(&table, folder, "t", &err), err);
    check_file(
        "t.csv",
        "\"kind, \"\"quoted\"\"\",n,t (ms)\r\n\"it's, so\",8,0.125\r\n<b>,12,\r\n");
    check_file(
        "t.json",
        "{\n \"title\": \"a title\",\n \"columns\": [\n"
        "  {\n   \"name\": \"kind, \\\"quoted\\\"\",\n   \"unit\": \"\"\n  },\n"
        "  {\n   \"name\": \"n\",\n   \"unit\": \"\"\n  },\n"
        "  {\n   \"name\": \"t\",\n   \"unit\": \"ms\"\n  }\n ],\n"
        " \"rows\": [\n  {\n   \"kind, \\\"quoted\\\"\": \"it's, so\",\n   \"n\": 8.0,\n"
        "   \"t\": 0.125\n  },\n  {\n   \"kind, \\\"quoted\\\"\": \"<b>\",\n"
        "   \"n\": 12.0,\n   \"t\": null\n  }\n ]\n}");
    CHECK(mmt_table_save(&table, "/proc/nowhere", "t", &err) != MMT_OK && err.text[0]);
    table.failed = true;
    CHECK_FAILS(mmt_table_save(&table, folder, "t", &err), err, MMT_ERROR_MEMORY,
                "table");
    mmt_table_free(&table);
}

int main(void)
{
    test_text();
    test_html();
    test_files();
    return test_end("table");
}
