"""C declarations as text: the declarators are built from the inside out, as C has them."""

from __future__ import annotations

from probescope.lang.bt.cdecl import (
    CArray,
    CBase,
    CDeclaration,
    CEnum,
    CFunction,
    CMember,
    CPointer,
    CStruct,
    CTagged,
    CType,
    CTypedef,
)

INDENT = "  "
_TAG_WORDS = {"user": "__user", "percpu": "__percpu", "rcu": "__rcu", "kernel": "__kernel", "iomem": "__iomem"}


def declaration_text(declaration: CDeclaration) -> str:
    """One declaration with its ``;``."""
    match declaration:
        case CStruct():
            return _struct(declaration, 0) + ";"
        case CEnum():
            return _enum(declaration) + ";"
        case CTypedef(name=name, type=kind, inline=inline):
            return f"typedef {_declared(kind, name, inline, 0)};"


def type_text(kind: CType) -> str:
    """A type alone: ``struct a *``, ``int (*)(void)``."""
    return _declared(kind, "", None, 0).strip()


def _attributes(packed: bool, align: int) -> str:
    inner = ["packed"] * packed + [f"aligned({align})"] * bool(align)
    return f" __attribute__(({', '.join(inner)}))" if inner else ""


def _is_anonymous(name: str) -> bool:
    return name.startswith("(")


def _struct(node: CStruct, level: int) -> str:
    head = node.keyword if _is_anonymous(node.name) else f"{node.keyword} {node.name}"
    if node.members is None:
        return head
    pad = INDENT * (level + 1)
    lines = [f"{pad}{_definition(n, level + 1)};\n" for n in node.nested]
    lines += [f"{pad}{_member(m, level + 1)};\n" for m in node.members]
    return f"{head} {{\n{''.join(lines)}{INDENT * level}}}{_attributes(node.packed, node.align)}"


def _definition(node: CStruct | CEnum, level: int) -> str:
    return _struct(node, level) if isinstance(node, CStruct) else _enum(node)


def _enum(node: CEnum) -> str:
    head = "enum" if _is_anonymous(node.name) else f"enum {node.name}"
    head += f" : {node.base}" if node.base else ""
    if node.values is None:
        return head
    values = ", ".join(f"{v.name} = {v.value}" for v in node.values)
    return f"{head} {{ {values} }}{_attributes(node.packed, 0)}"


def _member(node: CMember, level: int) -> str:
    text = _declared(node.type, node.name, node.inline, level)
    bits = "" if node.bits is None else f" : {node.bits}"
    return f"{text}{bits}{_attributes(False, node.align)}"


def _declared(kind: CType, name: str, inline: CStruct | CEnum | None, level: int) -> str:
    """``kind`` declaring ``name``: ``int (*name[4])(void)``."""
    declarator = name
    while True:
        match kind:
            case CPointer(target=target, tags=tags):
                words = "".join(f"{_TAG_WORDS.get(t) or _type_tag(t)} " for t in tags)
                declarator = f"{words}*{declarator}"
                if isinstance(target, CArray | CFunction):
                    declarator = f"({declarator})"
                kind = target
            case CArray(element=element, count=count):
                declarator += f"[{'' if count is None else count}]"
                kind = element
            case CFunction(result=result, params=params, variadic=variadic):
                inner = [type_text(p) for p in params] + ["..."] * variadic
                declarator += f"({', '.join(inner) or 'void'})"
                kind = result
            case CBase(name=base):
                return f"{base} {declarator}".rstrip()
            case CTagged(keyword=keyword, name=tag):
                head = _definition(inline, level) if inline is not None else f"{keyword} {tag}"
                return f"{head} {declarator}".rstrip()


def _type_tag(tag: str) -> str:
    return f'__attribute__((btf_type_tag("{tag}")))'
