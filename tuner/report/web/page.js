/* Draws each figure from the table of its section, and sorts and filters tables. What a filter leaves is drawn. */
"use strict";
(function () {
  const COLOURS = 9, ROW = 22, FORMAT = ",.9~g";

  // ---- tables -------------------------------------------------------------------------------------------------

  /* A table's rows as objects by column; numbers where the column's cells are such. */
  function read(table) {
    const rows = d3.selectAll(table.rows).nodes().map((row) => Array.from(row.cells));
    const isHead = (cells) => cells.every((cell) => cell.tagName === "TH");
    const heads = rows.filter(isHead);
    const names = heads[0].map((cell) => cell.textContent.trim());
    const units = heads[1] ? heads[1].map((cell) => cell.textContent.trim()) : names.map(() => "");
    const data = rows.filter((cells) => !isHead(cells)).map((cells) => {
      const row = { element: cells[0].parentNode };
      cells.forEach((cell, i) => {
        row[names[i]] = cell.className === "number" || cell.textContent === "-" ? parseFloat(cell.textContent)
          : cell.textContent;
      });
      return row;
    });
    return { heads, names, units, data };
  }

  /* "speed, GFLOP/s" */
  function label(table, name) {
    const unit = table.units[table.names.indexOf(name)];
    return unit ? name + ", " + unit : name;
  }

  function compare(a, b) {
    if (typeof a === "number" || typeof b === "number")
      return (isNaN(a) ? Infinity : a) - (isNaN(b) ? Infinity : b) || 0;
    return a.localeCompare(b, "en", { numeric: true });
  }

  function makeSortable(table) {
    table.heads[0].forEach((cell, i) => {
      const button = d3.select(cell).text("").append("button").attr("type", "button").text(table.names[i]);
      button.on("click", () => {
        const down = cell.getAttribute("aria-sort") === "ascending";
        table.heads[0].forEach((other) => other.removeAttribute("aria-sort"));
        cell.setAttribute("aria-sort", down ? "descending" : "ascending");
        const name = table.names[i], sign = down ? -1 : 1;
        table.data.sort((a, b) => sign * compare(a[name], b[name]));
        table.data.forEach((row) => row.element.parentNode.appendChild(row.element));
      });
    });
  }

  /* Words that a row must have, all of them. */
  function addFilter(box, table, changed) {
    const input = box.append("label").text("Filter ").append("input").attr("type", "search")
      .attr("placeholder", "words of a row");
    const told = box.append("span").attr("role", "status");
    input.on("input", function () {
      const words = this.value.toLowerCase().split(/\s+/).filter(Boolean);
      table.data.forEach((row) => {
        const text = row.element.textContent.toLowerCase();
        row.element.hidden = !words.every((word) => text.includes(word));
      });
      told.text(words.length ? shown(table).length + " of " + table.data.length + " rows" : "");
      changed();
    });
  }

  const shown = (table) => table.data.filter((row) => !row.element.hidden);

  // ---- a plot's frame -----------------------------------------------------------------------------------------

  function unique(rows, name) {
    return Array.from(new Set(rows.map((row) => row[name])));
  }

  function domain(values, log) {
    let [least, most] = d3.extent(values.filter((v) => isFinite(v) && (!log || v > 0)));
    if (least === undefined)
      return [1, 10];
    if (log)
      return least === most ? [least / 2, most * 2] : [least / 1.15, most * 1.15];
    return least === most ? [Math.min(0, least), most || 1] : [least, most];
  }

  function scale(values, range, log) {
    return (log ? d3.scaleLog() : d3.scaleLinear().nice()).domain(domain(values, log)).range(range);
  }

  /* An SVG with axes, their labels and a grid; scales are given their ranges by the caller. */
  function frame(stage, x, y, labels) {
    const { width, height, left, bottom, top, right } = stage;
    const svg = d3.select(stage.box).append("svg").attr("xmlns", "http://www.w3.org/2000/svg")
      .attr("viewBox", [0, 0, width, height]).attr("role", "img").attr("tabindex", 0)
      .attr("aria-label", stage.title + ": " + labels.y + " over " + labels.x + ". Arrow keys go from mark to mark.");
    const ticks = (axis, s, size) => {
      if (s.bandwidth)
        return axis;
      const [least, most] = s.domain(), decades = s.base ? Math.log10(most / least) : 0;
      if (!s.base)
        return axis.ticks(Math.min(8, size / 70), FORMAT);
      if (decades > 1.5)
        return axis.ticks(Math.min(6, size / 50), FORMAT);
      return axis.tickValues(d3.ticks(least, most, Math.min(6, size / 70)).filter((v) => v > 0)).tickFormat(d3.format(FORMAT));
    };
    const xAxis = ticks(d3.axisBottom(x), x, width - left - right);
    const yAxis = ticks(d3.axisLeft(y), y, height - top - bottom);
    if (!x.bandwidth)
      svg.append("g").attr("class", "grid").attr("transform", `translate(0,${height - bottom})`)
        .call(xAxis.tickSize(top + bottom - height)).selectAll("text").remove();
    if (!y.bandwidth)
      svg.append("g").attr("class", "grid").attr("transform", `translate(${left},0)`)
        .call(yAxis.tickSize(left + right - width)).selectAll("text").remove();
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - bottom})`).call(xAxis.tickSize(4));
    svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`).call(yAxis.tickSize(4));
    svg.append("text").attr("class", "label").attr("x", (left + width - right) / 2).attr("y", height - 6)
      .attr("text-anchor", "middle").text(labels.x);
    svg.append("text").attr("class", "label").attr("x", 4).attr("y", 12).text(labels.y);
    if (labels.title)
      svg.append("text").attr("x", width - right).attr("y", 12).attr("text-anchor", "end").text(labels.title);
    return svg;
  }

  /* Space for marks between the axes. */
  function stageOf(figure, height, left) {
    const width = Math.max(280, Math.min(1000, figure.clientWidth || 960));
    return { box: figure.querySelector(".plot"), title: figure.getAttribute("aria-label"), width, height,
      left: left || 76, right: 12, top: 24, bottom: 44 };
  }

  /* For bars and boxes: a band for each name, as high as they need, and room for names. */
  function bandStage(figure, names) {
    const longest = d3.max(names, (name) => name.length) || 1;
    const stage = stageOf(figure, 74 + ROW * names.length, 0);
    stage.left = Math.min(7 * longest + 14, stage.width * 0.45);
    stage.y = d3.scaleBand().domain(names).range([stage.top, stage.height - stage.bottom]).padding(0.25);
    return stage;
  }

  /* Cuts band names to the room that is left of the axis. */
  function cutNames(svg, stage) {
    const most = Math.floor((stage.left - 10) / 6.2);
    svg.selectAll(".axis text").filter(function () { return this.textContent.length > most; })
      .each(function () {
        const text = this.textContent;
        if (stage.y.domain().includes(text))
          d3.select(this).text(text.slice(0, most - 1) + "…").append("title").text(text);
      });
  }

  const colour = (names, name) => "t" + names.indexOf(name) % COLOURS;

  function legend(figure, names, classes) {
    const box = d3.select(figure.querySelector(".plot")).append("div").attr("class", "tools");
    names.forEach((name, i) => {
      const entry = box.append("span");
      entry.append("span").attr("class", classes ? classes[i] : "t" + i % COLOURS).text("● ").attr("aria-hidden", true);
      entry.append("span").text(name);
    });
  }

  const told = (row, table) => table.names.filter((name) => row[name] !== "" && row[name] === row[name])
    .map((name) => {
      const unit = table.units[table.names.indexOf(name)];
      return name + " " + row[name] + (unit ? " " + unit : "");
    }).join(", ");

  // ---- plots: each draws what rows say, and returns its marks --------------------------------------------------

  function roofline(figure, table, rows) {
    const device = figure.closest(".device"), stage = stageOf(figure, 420);
    const types = unique(table.data, "type"), bandwidth = +device.dataset.bandwidth;
    const peaks = {}, words = device.dataset.peaks.split(" ");
    words.forEach((word, i) => { if (i % 2) peaks[words[i - 1]] = +word; });
    const known = unique(rows, "type").filter((type) => peaks[type] && bandwidth);
    const x = scale(rows.map((row) => row.intensity), [stage.left, stage.width - stage.right], true);
    const y = scale(rows.map((row) => row.speed).concat(known.map((type) => peaks[type] / 1e9)),
      [stage.height - stage.bottom, stage.top], true);
    const svg = frame(stage, x, y, { x: label(table, "intensity"), y: label(table, "speed") });
    svg.append("clipPath").attr("id", "roofs").append("rect").attr("x", stage.left).attr("y", stage.top)
      .attr("width", stage.width - stage.left - stage.right).attr("height", stage.height - stage.top - stage.bottom);
    known.forEach((type) => {
      const [from, to] = x.domain(), knee = peaks[type] / bandwidth;
      const roof = [from, knee, to].filter((at) => at >= from && at <= to)
        .map((at) => [x(at), y(Math.min(peaks[type], at * bandwidth) / 1e9)]);
      svg.append("path").attr("class", "line roof " + colour(types, type)).attr("clip-path", "url(#roofs)")
        .attr("d", d3.line()(roof));
    });
    const marks = rows.map((row) => ({ row, x: x(row.intensity), y: y(row.speed) }));
    svg.selectAll("circle").data(marks).enter().append("circle").attr("r", 4)
      .attr("class", (mark) => colour(types, mark.row.type)).attr("cx", (mark) => mark.x).attr("cy", (mark) => mark.y);
    legend(figure, types.map((type) => type + (peaks[type] ? "" : " (no roof known)")));
    return [{ svg, marks }];
  }

  function speedup(figure, table, all) {
    const rows = all.filter((row) => row["speed-up"] > 0);
    const byK = d3.nest().key((row) => row.k).sortKeys((a, b) => a - b).entries(rows);
    const blue = d3.scaleLog().domain([0.5, 1, 2]).range(["#d55e00", "#f5f5f5", "#0072b2"]).clamp(true);
    const parts = byK.map((part) => {
      const m = Array.from(new Set(part.values.map((row) => row.m))).sort(d3.ascending);
      const n = Array.from(new Set(part.values.map((row) => row.n))).sort(d3.ascending);
      const stage = stageOf(figure, 74 + 30 * m.length, 70);
      stage.width = Math.min(stage.width, stage.left + stage.right + Math.max(120, 58 * n.length));
      const x = d3.scaleBand().domain(n).range([stage.left, stage.width - stage.right]).padding(0.05);
      const y = d3.scaleBand().domain(m).range([stage.height - stage.bottom, stage.top]).padding(0.05);
      const svg = frame(stage, x, y, { x: "n, columns of C", y: "m, rows of C", title: "k = " + part.key });
      svg.style("width", stage.width + "px");
      const cells = d3.nest().key((row) => row.m + " " + row.n).entries(part.values);
      const marks = [];
      cells.forEach((cell) => cell.values.forEach((row, i) => {
        const width = x.bandwidth() / cell.values.length, left = x(row.n) + i * width, value = row["speed-up"];
        svg.append("rect").attr("x", left).attr("y", y(row.m)).attr("width", width - 1).attr("height", y.bandwidth())
          .attr("fill", blue(value));
        if (width > 28)
          svg.append("text").attr("x", left + width / 2).attr("y", y(row.m) + y.bandwidth() / 2 + 4)
            .attr("text-anchor", "middle").style("fill", Math.abs(Math.log(value)) > 0.4 ? "#fff" : "#1b1f24")
            .text(d3.format(".2f")(value));
        marks.push({ row, x: left + width / 2, y: y(row.m) + y.bandwidth() / 2 });
      }));
      return { svg, marks };
    });
    legend(figure, ["ours is faster; darkest: 2 times or more", "the library is faster"], ["t0", "t1"]);
    return parts;
  }

  /* Bars of some columns beside each other for each of the greatest rows. */
  function bars(figure, table, rows, name, columns, most) {
    const some = rows.slice().sort((a, b) => (b[columns[0]] || 0) - (a[columns[0]] || 0)).slice(0, most);
    const stage = bandStage(figure, some.map((row) => row[name]));
    if (columns.length > 1) {
      stage.height = 74 + 14 * (columns.length + 1) * some.length;
      stage.y.range([stage.top, stage.height - stage.bottom]);
    }
    const values = some.flatMap((row) => columns.map((column) => row[column]));
    const x = scale(values.concat(0), [stage.left, stage.width - stage.right], false);
    const unit = table.units[table.names.indexOf(columns[0])];
    const svg = frame(stage, x, stage.y,
      { x: columns.length > 1 ? "time, " + unit : label(table, columns[0]) + (unit ? "" : ", count"), y: name });
    const band = d3.scaleBand().domain(columns).range([0, stage.y.bandwidth()]).padding(0.1);
    const marks = [];
    some.forEach((row) => columns.forEach((column, i) => {
      if (!(row[column] >= 0))
        return;
      const top = stage.y(row[name]) + band(column);
      svg.append("rect").attr("class", "bar t" + i).attr("x", x(0)).attr("y", top)
        .attr("width", Math.max(1, x(row[column]) - x(0))).attr("height", band.bandwidth());
      marks.push({ row, x: x(row[column]), y: top + band.bandwidth() / 2 });
    }));
    cutNames(svg, stage);
    if (columns.length > 1)
      legend(figure, columns);
    return [{ svg, marks }];
  }

  const step = (figure, table, rows) =>
    bars(figure, table, rows, "product", ["library", "ours", "roofline", "copy of its bytes", "gaps before"], 12);
  const kernels = (figure, table, rows) => bars(figure, table, rows, "kernel", ["problems"], 20);
  const results = (figure, table, rows) => bars(figure, table, rows, "outcome", ["results"], 10);

  /* Lines of one column over another, for each name; steps where a value stays until the next. */
  function lines(figure, table, rows, name, xName, yName, log, isStep) {
    const stage = stageOf(figure, 340), names = name ? unique(table.data, name) : [yName];
    const seen = rows.filter((row) => isFinite(row[xName]) && isFinite(row[yName]));
    const x = scale(seen.map((row) => row[xName]), [stage.left, stage.width - stage.right], log.x);
    const y = scale(seen.map((row) => row[yName]), [stage.height - stage.bottom, stage.top], log.y);
    const svg = frame(stage, x, y, { x: label(table, xName), y: label(table, yName) });
    const marks = [];
    names.forEach((it) => {
      const points = seen.filter((row) => !name || row[name] === it).sort((a, b) => a[xName] - b[xName])
        .map((row) => ({ row, x: x(row[xName]), y: y(row[yName]) }));
      svg.append("path").attr("class", "line " + colour(names, it))
        .attr("d", d3.line().x((p) => p.x).y((p) => p.y).curve(isStep ? d3.curveStepAfter : d3.curveLinear)(points));
      svg.selectAll(null).data(points).enter().append("circle").attr("r", 2.5).attr("class", colour(names, it))
        .attr("cx", (p) => p.x).attr("cy", (p) => p.y);
      marks.push(...points);
    });
    if (name && names.length <= 12)
      legend(figure, names);
    return [{ svg, marks }];
  }

  function search(figure, table, rows) {
    const xName = figure.querySelector("select").value;
    return lines(figure, table, rows, "problem", xName, "over the best at the end", { x: xName === "tries", y: true }, true);
  }

  const regret = (figure, table, rows) => lines(figure, table, rows, "range", "m", "slowdown", { x: true, y: false });

  function health(figure, table, rows) {
    return ["slowest clock", "temperature"].filter((name) => rows.some((row) => isFinite(row[name])))
      .flatMap((name) => lines(figure, table, rows, null, "elapsed", name, { x: false, y: false }));
  }

  /* Boxes from quartile to quartile, a line at the median, and the least to the left. */
  function knobs(figure, table, all) {
    const [template, knob] = figure.querySelector("select").value.split(" ");
    const rows = all.filter((row) => row.template === template && row.knob === knob);
    const stage = bandStage(figure, rows.map((row) => String(row.value)));
    stage.left = Math.max(stage.left, 60);
    const x = scale(rows.flatMap((row) => [row.least, row["upper quartile"], row["in pairs"] || 1]),
      [stage.left, stage.width - stage.right], true);
    const svg = frame(stage, x, stage.y, { x: "time over the problem's best, times", y: knob });
    const height = stage.y.bandwidth();
    const marks = rows.map((row) => {
      const top = stage.y(String(row.value)), middle = top + height / 2;
      const line = (from, to, y1, y2) => svg.append("line").attr("class", "line t0").attr("x1", x(from))
        .attr("x2", x(to)).attr("y1", y1).attr("y2", y2);
      svg.append("rect").attr("class", "bar t5").attr("x", x(row["lower quartile"])).attr("y", top)
        .attr("width", Math.max(1, x(row["upper quartile"]) - x(row["lower quartile"]))).attr("height", height);
      line(row.least, row["lower quartile"], middle, middle);
      line(row.median, row.median, top, top + height);
      if (row.pairs)
        svg.append("circle").attr("class", "t1").attr("r", 4).attr("cx", x(row["in pairs"])).attr("cy", middle);
      return { row, x: x(row.median), y: middle };
    });
    cutNames(svg, stage);
    legend(figure, ["quartiles and median of all candidates", "mean of pairs that differ in it alone, over the others"],
      ["t5", "t1"]);
    return [{ svg, marks }];
  }

  const plots = { roofline, speedup, step, search, knobs, kernels, regret, health, results };
  const choices = {
    search: () => [["tries", "over tries"], ["elapsed", "over seconds"]],
    knobs: (table) => Array.from(new Set(table.data.map((row) => row.template + " " + row.knob))).map((it) => [it, it]),
  };

  // ---- what a person does with a plot ---------------------------------------------------------------------------

  /* The pointer and arrow keys go from mark to mark; a click or Enter shows the mark's row. */
  function answer(figure, table, { svg, marks }) {
    const ring = svg.append("circle").attr("class", "at").attr("r", 7).style("display", "none");
    const line = figure.querySelector(".told");
    const ordered = marks.filter((mark) => isFinite(mark.x) && isFinite(mark.y)).sort((a, b) => a.x - b.x || a.y - b.y);
    let at = -1;
    const go = (i) => {
      at = i;
      ring.style("display", null).attr("cx", ordered[at].x).attr("cy", ordered[at].y);
      line.textContent = told(ordered[at].row, table);
    };
    const choose = () => {
      if (at < 0)
        return;
      table.data.forEach((row) => row.element.classList.toggle("chosen", row === ordered[at].row));
      figure.parentNode.querySelector("details").open = true;
      ordered[at].row.element.scrollIntoView({ block: "nearest" });
    };
    svg.on("mousemove", function () {
      const [x, y] = d3.mouse(this);
      const near = d3.scan(ordered, (a, b) => Math.hypot(a.x - x, a.y - y) - Math.hypot(b.x - x, b.y - y));
      if (near !== undefined)
        go(near);
    }).on("click", choose).on("keydown", () => {
      const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[d3.event.key];
      if (move && ordered.length)
        go((at + move + ordered.length) % ordered.length);
      else if (d3.event.key === "Enter")
        choose();
      else
        return;
      d3.event.preventDefault();
    });
  }

  /* The SVG with the page's rules for it, in the colours of paper. */
  function toFile(svg) {
    const copy = svg.cloneNode(true), style = document.createElementNS("http://www.w3.org/2000/svg", "style");
    style.textContent = document.querySelector("style").textContent.replace(/@media[^{]*\{(?:[^{}]*\{[^}]*\})*[^}]*\}/g, "")
      .replace(/var\(--ink\)/g, "#1b1f24").replace(/var\(--(soft|line|mark|paper)\)/g, "#999");
    copy.insertBefore(style, copy.firstChild);
    return new XMLSerializer().serializeToString(copy);
  }

  /* A button that saves the SVGs which an element has then. */
  function addSave(tools, element, name) {
    tools.append("button").attr("type", "button").text("Save as SVG").on("click", () => {
      element.querySelectorAll("svg").forEach((svg, i) => {
        const link = document.createElement("a");
        link.href = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(toFile(svg));
        link.download = name + (i ? "-" + (i + 1) : "") + ".svg";
        link.click();
      });
    });
  }

  function start(figure) {
    const tools = d3.select(figure).insert("div", ":first-child").attr("class", "tools");
    const table = figure.table, options = choices[figure.dataset.plot];
    const draw = () => {
      figure.querySelector(".plot").textContent = "";
      plots[figure.dataset.plot](figure, table, shown(table)).forEach((part) => answer(figure, table, part));
    };
    if (options) {
      const select = tools.append("label").text("Show ").append("select");
      options(table).forEach(([value, text]) => select.append("option").attr("value", value).text(text));
      select.on("change", draw);
    }
    d3.select(figure).append("div").attr("class", "plot " + figure.dataset.plot);
    d3.select(figure).append("p").attr("class", "told").attr("aria-live", "polite");
    addFilter(tools, table, draw);
    addSave(tools, figure, figure.dataset.plot);
    draw();
    return draw;
  }

  document.querySelectorAll(".wide > table:not(.heat):not(.bars)").forEach((element) => {
    const table = read(element), figure = element.closest("section").querySelector("figure[data-plot]");
    makeSortable(table);
    if (figure)
      figure.table = table;
  });
  document.querySelectorAll(".wide > svg").forEach((svg) => {
    const box = svg.parentNode, tools = document.createElement("div");
    box.parentNode.insertBefore(tools, box);
    addSave(d3.select(tools).attr("class", "tools"), box, "comparison");
  });
  const redraws = Array.from(document.querySelectorAll("figure[data-plot]")).map(start);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width)
      redraws.forEach((draw) => draw());
    width = innerWidth;
  });
})();
