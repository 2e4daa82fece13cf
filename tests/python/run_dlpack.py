"""Arrays that lend their memory by DLPack, where a device that executes nothing stands in for a card: run_dlpack.py

Which keywords __dlpack__ is asked with, what a capsule's flags and version mean, how long its memory is held, and which
numbers are refused before a launch."""
# pylint: disable=cell-var-from-loop
import ctypes

import mmtune
from stand_in import device
from checks import check, end, raises
from lenders import FLAGS, HalfLender, Lender, OldLender, Saying, unraised

A, B, OUT = 1 << 20, 2 << 20, 3 << 20
living = []  # tensors of each lender when the device was waited for


def finish(stream=0):
    living.append(([lender.living for lender in lenders], stream))


device.finish = finish


def operands(kind=Lender, **options):
    """a, b and out of 64x48, 48x32 and 64x32."""
    global lenders
    lenders = kind((64, 48), A, **options), kind((48, 32), B, **options), kind((64, 32), OUT, **options)
    living.clear()
    return lenders


def multiply(a, b, out, **options):
    check(mmtune.matmul(a, b, out=out, **options) is out, f"out is returned: {options}")


def execute(a, b, out, **options):
    plan.execute(a, b, out, **options)


def test_keywords():
    for kind, of_operand, of_out in ((Lender, {"max_version"}, {"max_version", "copy"}),
                                     (HalfLender, {"max_version"}, {"max_version"}), (OldLender, set(), set())):
        a, b, out = operands(kind)
        multiply(a, b, out)
        for lender, words in ((a, of_operand), (b, of_operand), (out, of_out)):
            check(set(lender.asked) == words | {"stream"}, f"{kind.__name__} is asked by {lender.asked}")
            check(lender.asked.get("max_version", (1,))[0] == 1 and not lender.asked.get("copy"), f"{lender.asked}")
    for stream, told in ((None, 1), (0, 1), (0x70, 0x70)):
        a, b, out = operands()
        multiply(a, b, out, stream=stream)
        check({x.asked["stream"] for x in (a, b, out)} == {told}, f"work on the stream {stream} is told as {a.asked}")


def test_lifetime():
    """The memory is lent until the device has been waited for, and given back once."""
    for kind in (Lender, OldLender):
        for run in (multiply, execute):
            a, b, out = operands(kind)
            for _ in range(2):  # with the plan that is made, and with the one that is found
                run(a, b, out, stream=0x70)
            check(len(living) == 2 and all(held == [1, 1, 1] for held, _ in living), f"held until then: {living}")
            check({stream for _, stream in living} == {0x70}, f"on the stream of the work: {living}")
            check([x.living for x in (a, b, out)] == [0, 0, 0], "and no longer")
            check(a.made == b.made == 2, f"a product asks once: {a.made}")
            names = {b"used_dltensor" if kind is OldLender else b"used_dltensor_versioned"}
            check({x.name for x in (a, b, out)} == names, f"{a.name} says that it was taken")
    a, b, out = operands()
    raises(mmtune.ArgumentError, "bias has the shape", lambda: mmtune.matmul(a, b, out=out, bias=Lender((5,), 4 << 20)))
    check([x.living for x in (a, b, out)] == [0, 0, 0], "what is refused is given back")
    a, b, out = operands(deletes=False)
    multiply(a, b, out)
    check(a.living == 1, "a tensor without a deleter is left alone")


def test_failed_launch():
    """A launch that fails behind others that are under way gives nothing back before these are done."""
    a, b, out = operands()
    for run in (lambda: mmtune.matmul(a, b, out=out, alpha="x"), lambda: plan.execute(a, b, out, alpha="x")):
        living.clear()
        raises(TypeError, "alpha is 'x'", run)
        check([held for held, _ in living] == [[1, 1, 1]], f"a failed launch is waited for: {living}")


def test_read_only():
    for run in (multiply, execute):
        a, b, out = operands()
        a.flags = b.flags = FLAGS["read only"]
        run(a, b, out)
        out.flags = FLAGS["read only"]
        raises(mmtune.ArgumentError, "out lends memory that may not be written", lambda: run(a, b, out))
    bias = Lender((32,), 4 << 20, flags=FLAGS["read only"])
    out.flags = 0
    multiply(a, b, out, bias=bias)
    check(bias.made == 1 and not bias.living, "a bias that may not be written is read")
    for x in (a, b, out):
        check(not x.living, "what is refused is given back")


class Copier(OldLender):
    """Each capsule has memory of its own, of which DLPack 0 says nothing."""

    def capsule(self, versioned):
        self.numbers["data"] += 1 << 24
        return super().capsule(versioned)


class Unwilling(Lender):
    def capsule(self, versioned):
        if self.asked.get("copy") is False:
            raise BufferError("only by a copy")
        return super().capsule(versioned)


def test_copies():
    words = "out lends a copy of its elements, so that it would stay as it is; give an array that shares its memory"
    for run in (multiply, execute):
        a, b, out = operands()
        a.flags = FLAGS["copy"]
        run(a, b, out)
        for lender in (Lender((64, 32), OUT, flags=FLAGS["copy"]), Copier((64, 32), OUT),
                       HalfLender((64, 32), OUT, flags=FLAGS["copy"])):
            raises(mmtune.ArgumentError, words, lambda: run(a, b, lender))
            check(lender.made and not lender.living, "what is refused is given back")
        run(Copier((64, 48), A), b, out)
        raises(mmtune.ArgumentError, "out does not export its memory: BufferError: only by a copy",
               lambda: run(a, b, Unwilling((64, 32), OUT)))
        run(Unwilling((64, 48), A), b, out)


def test_capsules():
    a, b, out = operands()
    wrong, memory = mmtune.ArgumentError, ctypes.create_string_buffer(4 * 64 * 48)
    host = ctypes.addressof(memory)
    for lender, words in ((Lender((64, 48), A, version=(2, 0)), "the tensor is of DLPack 2; mmtune reads DLPack 1"),
                          (Lender((64, 48), A, named=b"used_dltensor"), "no capsule with a tensor that nobody"),
                          (Lender((64, 48), A, numbers={"code": 5, "bits": 64}), "DLPack's type 5 with 64 bits"),
                          (Lender((64, 48), A, numbers={"lanes": 2}), "a has elements of DLPack's type"),
                          (Lender((64, 48), A, numbers={"shape": None}), "a has 2 dimensions and no shape"),
                          (Lender((64, 48), A, numbers={"ndim": -1}), "a has -1 dimensions and a shape"),
                          (Lender((64, 48), A, numbers={"ndim": 65}), "64 dimensions at most"),
                          (Lender((64, 48), A, numbers={"data": None}), "where there is no such memory"),
                          (Lender((64, 48), A, numbers={"byte_offset": 1 << 63}), "where there is no such memory"),
                          (Lender((64, 48), A, numbers={"byte_offset": 2}), "must be a multiple of 4"),
                          (Lender((64, 48), A, strides=(1 << 60, 1)), "where there is no such memory"),
                          (Lender((64, -48), A, strides=(48, 1)), "no length is negative"),
                          (Lender((64, 48), A, strides=(-48, 1)), "copy it first"),
                          (Saying((64, 48), A, said={"shape": (64, 49)}), "says that it has the shape (64, 49)"),
                          (Saying((64, 48), A, said={"dtype": "float64"}), "elements of float64"),
                          (Saying((64, 48), A, said={"nbytes": 4 * 64 * 48 - 1}), "and 12287 bytes"),
                          (Saying((64, 48), A, said={"shape": RuntimeError}), "a does not export its memory"),
                          (Lender((64, 48), A, numbers={"device_type": 2, "device_id": 1}), "its memory that it is on"),
                          (Lender((64, 48), A, device=(7, 0)), "a is on a device of DLPack's type 7"),
                          (Lender((64, 48), A, device=(2, -1)), "type 2, number -1"),
                          (Lender((64, 48), host, device=(1, 0)), "is on CUDA device 0, a on the host"),
                          (Lender((64, 48), A, device=(1, 0)), "where there is no such memory")):
        raises(wrong, words, lambda: multiply(lender, b, out))
        check(lender.named or not lender.living, f"what is refused is given back: {words}")
    for answer in (None, 5, object()):
        b.capsule = lambda versioned: answer
        raises(wrong, "b does not export its memory: TypeError: the answer is", lambda: multiply(a, b, out))


plan = mmtune.Plan(64, 32, 48, device=device)
for test in (test_keywords, test_lifetime, test_failed_launch, test_read_only, test_copies, test_capsules):
    test()
check(not unraised, f"nothing is deleted twice: {unraised}")
end("python dlpack")
