"""Arrays that lie about themselves, and what is no array, where a device that executes nothing stands in for a card:
run_lies.py. Whatever is refused is refused by an error of the package, before a launch, and given back."""
# pylint: disable=broad-except,cell-var-from-loop
import random

import mmtune
from stand_in import device
from checks import check, end, raises
from lenders import Lender, Saying, liar, unraised

PLACES = {"a": ((64, 48), 1 << 20), "b": ((48, 32), 2 << 20), "out": ((64, 32), 3 << 20), "bias": ((32,), 4 << 20)}
plan = mmtune.Plan(mmtune.Problem(64, 32, 48, bias="n"), device=device)


def plain():
    return {name: Lender(*place) for name, place in PLACES.items()}


def is_refused(call, what):
    """Whether it is, by an error of the package; any other is none."""
    try:
        call()
    except mmtune.Error as error:
        return check(bool(str(error)), f"{what} is refused in words")
    except Exception as error:
        check(False, f"{what}: {type(error).__name__}: {error}")
    return False


def test_lies():
    """Lies by chance; those that come true, as a view of what is there, are multiplied."""
    rng = random.Random(1)
    refused = taken = 0
    for _ in range(1500):
        name = rng.choice(list(PLACES))
        lender = liar(rng, *PLACES[name], (2, 0))
        arrays = {**plain(), name: lender}
        words = f"{name} with {lender.numbers} on {lender.device} that says {lender.said}"
        for call in (lambda: mmtune.matmul(**arrays), lambda: plan.execute(**arrays)):
            no = is_refused(call, words)
            refused, taken = refused + no, taken + (not no)
        if lender.named is None:
            check(not lender.living and not unraised, f"{words} is given back: {lender.living} {unraised}")
    check(refused > 1500 and taken > 100, f"{refused} are refused, {taken} taken")


class Interface:
    def __init__(self, **about):
        self.__cuda_array_interface__ = {"shape": (64, 48), "typestr": "<f4", "data": (1 << 20, False), **about}


def test_interfaces():
    good = {"b": Interface(shape=(48, 32)), "out": Interface(shape=(64, 32), data=(3 << 20, False))}
    mmtune.matmul(Interface(), **good)
    for about in ({"shape": (-64, 48)}, {"shape": 64}, {"shape": ("64", 48)}, {"shape": (64.0, 48)},
                  {"shape": (1,) * 65}, {"shape": (1 << 62, 48)}, {"strides": (4,)}, {"strides": (192, 3)},
                  {"strides": (1 << 62, 4)}, {"strides": (-192, 4)}, {"strides": "xy"}, {"data": (0, False)}, {"data": (None, 0)}, {"data": None},
                  {"data": (-4, False)}, {"data": (1 << 64, False)}, {"data": ("x", False)}, {"data": (1 << 20,)},
                  {"typestr": None}, {"typestr": []}, {"typestr": ">f4"}, {"stream": "x"}, {"stream": -5},
                  {"mask": 1}):
        check(is_refused(lambda: mmtune.matmul(Interface(**about), **good), about), f"{about} is refused")
    odd = Interface()
    for about in (None, 5, "x", [], {}):
        odd.__cuda_array_interface__ = about
        check(is_refused(lambda: mmtune.matmul(odd, **good), about), f"{about} is no interface")
    for out in (Interface(shape=(64, 32), data=(3 << 20, True)), Interface(shape=(64, 32), data=(3 << 20, 1))):
        raises(mmtune.ArgumentError, "may not be written", lambda: mmtune.matmul(Interface(), good["b"], out=out))


class Raising:
    """Raises out of whatever it is asked for."""

    def __init__(self, error, name):
        self.error, self.name = error, name

    def __getattribute__(self, name):
        if name == object.__getattribute__(self, "name"):
            raise object.__getattribute__(self, "error")
        return object.__getattribute__(self, name)

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **_):
        raise KeyError("nothing is here")


class Unhashed(type):
    __hash__ = None


class OfUnhashed(metaclass=Unhashed):
    pass


def test_odd():
    """What is no array, and what raises when it is asked."""
    odd = [None, True, 5, 1.5, 2j, "x", b"x", (), [[1.0]], {}, object(), int, Lender, len, ..., range(3), mmtune,
           OfUnhashed()]
    odd += [Raising(error, name) for error in (KeyError("x"), RuntimeError("x"), MemoryError("x"), RecursionError("x"))
            for name in ("__dlpack__", "__dlpack_device__", "__cuda_array_interface__", "shape", "__class__")]
    for x in odd:
        for name in PLACES:
            arrays = {**plain(), name: x}
            optional = x is None and name in ("out", "bias")
            no = is_refused(lambda: mmtune.matmul(**arrays), f"{name}, which is {type(x)}")
            check(no or optional and name == "bias", f"{name}, which is {type(x)}, is refused")
            if type(x) not in (int, bool) and not optional:
                no = is_refused(lambda: plan.execute(**arrays), f"{name}, which is {type(x)}")
                check(no, f"{name} of a plan, which is {type(x)}, is refused")
    for options in ({"stream": Saying((1,), 1, said={"ptr": -1})}, {"stream": Saying((1,), 1, said={"ptr": "x"})},
                    {"stream": Saying((1,), 1, said={"ptr": OSError})}, {"stream": object()}, {"alpha": object()},
                    {"out_dtype": object()}, {"out_dtype": Raising(KeyError("x"), "__name__")}, {"activation": []},
                    {"precision": {}}, {"device": []}, {"device": "\ud800"}, {"device": "\u00b2"},
                    {"device": "9" * 5000}, {"device": f"cuda:{1 << 32}"}):
        check(is_refused(lambda: mmtune.matmul(**plain(), **options), options), f"{options} is refused")
    for x in odd:
        if type(x) is not bytes:
            check(is_refused(lambda: device.buffer(64).write(x), type(x)), f"{type(x)} has no memory to copy")


for test in (test_lies, test_interfaces, test_odd):
    test()
check(not unraised, f"nothing is deleted twice: {unraised}")
end("python lies")
