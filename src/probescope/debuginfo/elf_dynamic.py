"""The dynamic symbol table of files whose section headers were cut off (sstrip, packers), found as the loader finds it.

    PT_DYNAMIC -> DT_SYMTAB, DT_STRTAB, DT_STRSZ, and the number of symbols out of a hash table:
    DT_HASH       nbucket  nchain = number of symbols
    DT_GNU_HASH   nbuckets  symoffset  bloom_size  bloom_shift  bloom...  buckets...  chains (the last of each is odd)

Source: gABI chapter 5 "Hash Table"; "GNU Hash ELF Sections" (the format of binutils and glibc).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from probescope.debuginfo.elf_symbols import MAX_SYMBOLS, SymbolTable
from probescope.errors import ElfError

if TYPE_CHECKING:
    from probescope.debuginfo.elf import ElfFile

DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_GNU_HASH = 4, 5, 6, 10, 0x6FFFFEF5


def symbol_table(elf: ElfFile) -> SymbolTable | None:
    """``None`` if the file is not dynamic, or its tables lie outside. Raises ElfError for hash tables that lie."""
    tags = dict(reversed(elf.dynamic()))
    table, strings = elf.to_offset(tags.get(DT_SYMTAB, 0)), elf.to_offset(tags.get(DT_STRTAB, 0))
    if table is None or strings is None or DT_SYMTAB not in tags:
        return None
    entry = 24 if elf.bits == 64 else 16
    count = min(_count(elf, tags), (elf.source.size - table) // entry)
    data = elf.source.read(table, count * entry)
    text = elf.source.read(strings, min(tags.get(DT_STRSZ, 0), elf.source.size - strings))
    return SymbolTable(data, text, elf.bits, elf.little, where=f"{elf.path}:DT_SYMTAB")


def _count(elf: ElfFile, tags: dict[int, int]) -> int:
    if DT_HASH in tags:
        return _words(elf, tags[DT_HASH], 2)[1]
    if DT_GNU_HASH not in tags:
        return 0
    at = tags[DT_GNU_HASH]
    nbuckets, first, bloom, _ = _words(elf, at, 4)
    if nbuckets > MAX_SYMBOLS or bloom > MAX_SYMBOLS:
        raise ElfError(f"a hash table of {nbuckets} buckets", file=elf.path, section="DT_GNU_HASH")
    buckets = at + 16 + bloom * elf.bits // 8
    last = max(_words(elf, buckets, nbuckets), default=0)
    if last < first:
        return first
    return last + 1 + _chain(elf, buckets + 4 * nbuckets + 4 * (last - first))


def _chain(elf: ElfFile, at: int) -> int:
    """How many symbols follow in a chain before the one whose hash is odd, which ends it."""
    offset = elf.to_offset(at)
    if offset is None:
        raise ElfError("a chain outside of the file", file=elf.path, section="DT_GNU_HASH")
    size = min(elf.source.size - offset, 4 * MAX_SYMBOLS) & ~3
    words = struct.unpack(f"{'<' if elf.little else '>'}{size // 4}I", elf.source.read(offset, size))
    return next((i for i, w in enumerate(words) if w & 1), 0)


def _words(elf: ElfFile, at: int, count: int) -> tuple[int, ...]:
    return struct.unpack(f"{'<' if elf.little else '>'}{count}I", elf.read_vaddr(at, 4 * count))
