"""Names of the kernel's allocation flags (``%gr``). Bits move between kernels: these are include/linux/gfp_types.h of
6.12; unknown bits are shown as a number."""

from __future__ import annotations

_BITS = (
    "__GFP_DMA",
    "__GFP_HIGHMEM",
    "__GFP_DMA32",
    "__GFP_MOVABLE",
    "__GFP_RECLAIMABLE",
    "__GFP_HIGH",
    "__GFP_IO",
    "__GFP_FS",
    "__GFP_ZERO",
    "",
    "__GFP_DIRECT_RECLAIM",
    "__GFP_KSWAPD_RECLAIM",
    "__GFP_WRITE",
    "__GFP_NOWARN",
    "__GFP_RETRY_MAYFAIL",
    "__GFP_NOFAIL",
    "__GFP_NORETRY",
    "__GFP_MEMALLOC",
    "__GFP_COMP",
    "__GFP_NOMEMALLOC",
    "__GFP_HARDWALL",
    "__GFP_THISNODE",
    "__GFP_ACCOUNT",
    "__GFP_ZEROTAGS",
)
_N = {name: 1 << i for i, name in enumerate(_BITS) if name}
_RECLAIM = _N["__GFP_DIRECT_RECLAIM"] | _N["__GFP_KSWAPD_RECLAIM"]
_KERNEL = _RECLAIM | _N["__GFP_IO"] | _N["__GFP_FS"]
_HIGHUSER = _KERNEL | _N["__GFP_HARDWALL"] | _N["__GFP_HIGHMEM"]

_COMPOUND: tuple[tuple[str, int], ...] = (
    ("GFP_HIGHUSER_MOVABLE", _HIGHUSER | _N["__GFP_MOVABLE"]),
    ("GFP_HIGHUSER", _HIGHUSER),
    ("GFP_USER", _KERNEL | _N["__GFP_HARDWALL"]),
    ("GFP_KERNEL_ACCOUNT", _KERNEL | _N["__GFP_ACCOUNT"]),
    ("GFP_KERNEL", _KERNEL),
    ("GFP_NOFS", _RECLAIM | _N["__GFP_IO"]),
    ("GFP_ATOMIC", _N["__GFP_HIGH"] | _N["__GFP_KSWAPD_RECLAIM"]),
    ("GFP_NOIO", _RECLAIM),
    ("GFP_NOWAIT", _N["__GFP_KSWAPD_RECLAIM"]),
    ("GFP_DMA32", _N["__GFP_DMA32"]),
    ("GFP_DMA", _N["__GFP_DMA"]),
)


def gfp_text(flags: int) -> str:
    """``GFP_KERNEL|__GFP_ZERO``: the greatest known combinations first."""
    out = []
    for name, bits in _COMPOUND:
        if flags & bits == bits:
            out.append(name)
            flags &= ~bits
            break
    for name, bit in _N.items():
        if flags & bit:
            out.append(name)
            flags &= ~bit
    if flags:
        out.append(f"{flags:#x}")
    return "|".join(out) or "0x0"
