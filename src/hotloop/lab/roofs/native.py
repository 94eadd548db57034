"""Bare loops: what the hardware does when nothing but the work itself is in the loop. Written as text for LLVM, so that no library's choice is in them.

Each is compiled for the very processor it runs on, by the compiler Numba brings, without any optimiser that could see through them; what is
written here is what runs. Called through ctypes they hold no lock, so threads run side by side.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

LINE = 64  # bytes of a cache line
UNROLLED = 8  # vectors touched in a turn of a memory loop
REGISTERS = 16  # sums that grow at the same time: enough to hide the latency of two units of four cycles
FEW_REGISTERS = 12  # where there are only sixteen of them
ARM = ("arm64", "aarch64")
ELEMENT = {"float32": ("float", 4), "float64": ("double", 8)}


class CannotBuild(RuntimeError):
    """This processor or this compiler lacks something a bare loop is made of."""


# ---------------------------------------------------------------- arithmetic


@cache
def multiply_add(dtype: str) -> tuple[Callable[..., None], float]:
    """A loop of fused multiply-adds, (turns, numbers, out), and the arithmetic of a turn; bfloat16 products are summed in float32."""
    bits, registers = vector_bits()
    if dtype == "bfloat16":
        if not features().get("avx512bf16"):
            raise CannotBuild("expected a processor with AVX512-BF16 for a bare bfloat16 loop, found none; the best product of a library stands in for it")
        vector, numbers, flops = "<16 x float>", "<32 x bfloat>", 64
        function = "@llvm.x86.avx512bf16.dpbf16ps.512"
        step = f"call {vector} {function}({vector} %s{{k}}, {numbers} %a, {numbers} %a)"
    elif not (features().get("fma") or platform.machine().lower() in ARM):
        raise CannotBuild("expected a processor with fused multiply-add, found none; the best product of a library stands in for it")
    else:
        name, size = ELEMENT[dtype]
        lanes = bits // (8 * size)
        vector = numbers = f"<{lanes} x {name}>"
        flops, function = 2 * lanes, f"@llvm.fma.v{lanes}f{8 * size}"
        step = f"call {vector} {function}({vector} %s{{k}}, {numbers} %a, {numbers} %a)"
    declared = f"declare {vector} {function}({vector}, {numbers}, {numbers})"
    loop = built("multiply_add", arithmetic_text(vector, numbers, step, registers) + declared, (ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p))
    return loop, float(registers * flops)


def arithmetic_text(vector: str, numbers: str, step: str, registers: int) -> str:
    """`registers` independent sums, each a step further every turn."""
    begin = "\n".join(f"  %s{k} = phi {vector} [ %start, %entry ], [ %t{k}, %loop ]" for k in range(registers))
    steps = "\n".join(f"  %t{k} = {step.format(k=k)}" for k in range(registers))
    sums = "\n".join(f"  %r{k} = fadd {vector} %t{k}, {f'%r{k - 1}' if k else '%start'}" for k in range(registers))
    return f"""
define void @multiply_add(i64 %turns, ptr %numbers, ptr %out) {{
entry:
  %a = load {numbers}, ptr %numbers, align 1
  %start = load {vector}, ptr %out, align 1
  br label %loop
loop:
  %turn = phi i64 [ 0, %entry ], [ %next, %loop ]
{begin}
{steps}
  %next = add i64 %turn, 1
  %more = icmp ult i64 %next, %turns
  br i1 %more, label %loop, label %end
end:
{sums}
  store {vector} %r{registers - 1}, ptr %out, align 1
  ret void
}}
"""


def count_cycles() -> Callable[..., int]:
    """A loop of additions that wait for each other, (turns, number) -> sum: a turn takes CHAIN cycles, so its time tells the clock's frequency."""
    chain = "\n".join(f"  %x{k + 1} = {'add' if k % 2 else 'xor'} i64 %x{k}, %number" for k in range(CHAIN))
    text = f"""
define i64 @count_cycles(i64 %turns, i64 %number) {{
entry:
  br label %loop
loop:
  %turn = phi i64 [ 0, %entry ], [ %next, %loop ]
  %x0 = phi i64 [ %number, %entry ], [ %x{CHAIN}, %loop ]
{chain}
  %next = add i64 %turn, 1
  %more = icmp ult i64 %next, %turns
  br i1 %more, label %loop, label %end
end:
  ret i64 %x{CHAIN}
}}
"""
    return built("count_cycles", text, (ctypes.c_int64, ctypes.c_int64), ctypes.c_int64)


CHAIN = 64  # additions in a turn, each waiting for the one before


# ---------------------------------------------------------------- memory


@cache
def memory_loop(kind: str, *, past_caches: bool = False) -> Callable[..., None]:
    """copy, fill or read: (to, from, bytes, rounds), a multiple of UNROLLED lines, both aligned to a line.

    Past the caches: stores that do not first fetch the line they are about to overwrite.
    """
    hint = ", !nontemporal !0" if past_caches else ""
    size = vector_bits()[0] // 8
    vector = f"<{size // 4} x i32>"
    body, begin, end = [], [], []
    for k in range(UNROLLED):
        body.append(f"  %o{k} = add i64 %at, {k * size}")
        if kind in ("copy", "read"):
            body.append(f"  %f{k} = getelementptr i8, ptr %from, i64 %o{k}\n  %v{k} = load {vector}, ptr %f{k}, align {size}")
        if kind in ("copy", "fill"):
            what = f"%v{k}" if kind == "copy" else "%start"
            body.append(f"  %d{k} = getelementptr i8, ptr %to, i64 %o{k}\n  store {vector} {what}, ptr %d{k}, align {size}{hint}")
        if kind == "read":  # what is read must be used for something
            begin.append(f"  %s{k} = phi {vector} [ %start, %again ], [ %t{k}, %loop ]")
            body.append(f"  %t{k} = add {vector} %s{k}, %v{k}")
            end.append(f"  %r{k} = add {vector} %t{k}, {f'%r{k - 1}' if k else '%start'}")
    if kind == "read":
        end.append(f"  store {vector} %r{UNROLLED - 1}, ptr %to, align {size}")
    text = memory_text(vector, UNROLLED * size, "\n".join(begin), "\n".join(body), "\n".join(end))
    return built("move", text, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64))


def memory_text(vector: str, turn: int, begin: str, body: str, end: str) -> str:
    return f"""
define void @move(ptr %to, ptr %from, i64 %bytes, i64 %rounds) {{
entry:
  %start = load {vector}, ptr %to, align 4
  br label %again
again:
  %round = phi i64 [ 0, %entry ], [ %following, %ended ]
  br label %loop
loop:
  %at = phi i64 [ 0, %again ], [ %next, %loop ]
{begin}
{body}
  %next = add i64 %at, {turn}
  %more = icmp ult i64 %next, %bytes
  br i1 %more, label %loop, label %ended
ended:
{end}
  %following = add i64 %round, 1
  %rest = icmp ult i64 %following, %rounds
  br i1 %rest, label %again, label %end
end:
  ret void
}}
!0 = !{{i32 1}}
"""


# ---------------------------------------------------------------- building


def llvm() -> Any:
    """The compiler that Numba brings."""
    return import_module("llvmlite.binding")


@cache
def features() -> dict[str, bool]:
    """What this processor has, in LLVM's words."""
    return dict(llvm().get_host_cpu_features())


def vector_bits() -> tuple[int, int]:
    """How wide a vector of this processor is, and how many sums to grow at the same time."""
    if platform.machine().lower() in ARM:
        return 128, REGISTERS
    if features().get("avx512f"):
        return 512, REGISTERS
    return (256 if features().get("avx2") else 128), FEW_REGISTERS


def built(name: str, text: str, takes: tuple[Any, ...], gives: Any = None) -> Callable[..., Any]:
    """Machine code for a function, for this processor; it lives as long as what is given back."""
    binding = llvm()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    try:
        module = binding.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CannotBuild(f"expected LLVM to know the loop's instructions, found that it does not ({' '.join(str(error).split())[:120]})") from error
    target, features = binding.Target.from_default_triple(), binding.get_host_cpu_features().flatten()
    machine = target.create_target_machine(cpu=binding.get_host_cpu_name(), features=features, opt=3)
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    function: Any = ctypes.CFUNCTYPE(gives, *takes)(engine.get_function_address(name))
    function.compiled_by = engine  # the code goes when its engine does
    return function
