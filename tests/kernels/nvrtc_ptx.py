"""What NVRTC makes of a source text, where there is one: used by the tests beside this."""
import ctypes
import sys

LIBRARIES = [folder + name for name in ("libnvrtc.so.13", "libnvrtc.so.12")
             for folder in ("", "/usr/local/cuda/lib64/")]


def _load():
    for name in LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    print("skipped: there is no NVRTC here")
    sys.exit(77)


def compile_ptx(text, architecture="compute_90a"):
    """The PTX of a source text. Ends the test with 77 where there is no NVRTC."""
    nvrtc = _load()
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    option = (ctypes.c_char_p * 1)(f"--gpu-architecture={architecture}".encode())
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    status = nvrtc.nvrtcCompileProgram(program, 1, option)
    if status:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(f"NVRTC refuses the kernel: {log.value.decode()}")
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx.value.decode()
