"""Which function lowers which node: the index of the ``lower_*`` modules. Importing it fills the tables of
``lower.py``."""

from __future__ import annotations

from probescope.bpf import (
    lower,
    lower_agg,
    lower_branch,
    lower_call,
    lower_context,
    lower_index,
    lower_loop,
    lower_map,
    lower_memory,
    lower_read,
    lower_record,
    lower_scalar,
    lower_site,
    lower_stack,
    lower_stmt,
    lower_vars,
)
from probescope.bpf.lower import Held
from probescope.ir import expr as x
from probescope.ir import stmt as s

lower.SCALAR.update(
    {
        Held: lower_scalar.held,
        x.Const: lower_scalar.const,
        x.Local: lower_vars.read,
        x.Address: lower_vars.address,
        x.Unary: lower_scalar.unary,
        x.Binary: lower_scalar.binary,
        x.Logic: lower_scalar.truth,
        x.Cast: lower_scalar.cast,
        x.Select: lower_scalar.select,
        x.Block: lower_scalar.block,
        x.Item: lower_memory.part,
        x.Part: lower_memory.part,
        x.Index: lower_index.index,
        x.Context: lower_context.value,
        x.Field: lower_site.field,
        x.Arg: lower_site.arg,
        x.Ret: lower_site.ret,
        x.Reg: lower_site.register,
        x.Load: lower_read.load,
        x.Stack: lower_stack.stack,
        x.MapGet: lower_map.get,
        x.MapPart: lower_map.part,
        x.MapHas: lower_scalar.truth,
        x.MapDelete: lower_map.delete,
        x.MapLen: lower_map.length,
        x.MapAdd: lower_map.add,
        x.Call: lower_call.call,
    }
)

lower.INTO.update(
    {
        Held: lower_memory.held_into,
        x.Const: lower_memory.const_into,
        x.Local: lower_vars.into,
        x.Cast: lower_memory.cast_into,
        x.Select: lower_memory.select_into,
        x.Block: lower_memory.block_into,
        x.Pack: lower_memory.pack_into,
        x.Item: lower_memory.part_into,
        x.Part: lower_memory.part_into,
        x.Index: lower_memory.part_into,
        x.Context: lower_context.comm_into,
        x.Field: lower_site.field_into,
        x.Load: lower_read.load_into,
        x.ReadStr: lower_read.readstr_into,
        x.ReadBuf: lower_read.readbuf_into,
        x.MapGet: lower_memory.copied,
        x.Call: lower_call.call_into,
    }
)

lower.PLACE.update(
    {
        Held: lower_memory.held_place,
        x.Const: lower_memory.const_place,
        x.Local: lower_vars.find,
        x.Item: lower_memory.part_place,
        x.Part: lower_memory.part_place,
        x.Index: lower_index.index_place,
        x.Context: lower_context.comm_place,
        x.Field: lower_site.field_place,
        x.Load: lower_memory.load_place,
        x.MapGet: lower_map.get_place,
    }
)

lower.TESTS.update(
    {
        x.Expr: lower_branch.any_value,
        x.Unary: lower_branch.negation,
        x.Logic: lower_branch.logic,
        x.Cast: lower_branch.cast,
        x.Binary: lower_branch.comparison,
        x.MapHas: lower_map.has_test,
        x.Call: lower_call.call_test,
    }
)

lower.STATEMENT.update(
    {
        s.Assign: lower_vars.assign,
        s.Discard: lower_stmt.discard,
        s.MapSet: lower_map.set_,
        s.MapUpdate: lower_agg.update,
        s.If: lower_stmt.if_,
        s.While: lower_loop.while_,
        s.ForRange: lower_loop.for_range,
        s.ForMap: lower_loop.for_map,
        s.Break: lower_stmt.break_,
        s.Continue: lower_stmt.continue_,
        s.Return: lower_stmt.return_,
        s.Emit: lower_record.emit,
        s.Effect: lower_stmt.effect,
    }
)
