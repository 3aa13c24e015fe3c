"""The canonical layout of scripts."""

from __future__ import annotations

import pytest

from probescope.diagnostics import Source
from probescope.errors import ScriptError
from probescope.lang.bt.format import formatted


def layout(text: str) -> str:
    return formatted(Source("stdin", text))


EXAMPLES = {
    # one clause on one line
    "tracepoint:a:b,kprobe:f /pid==1/{@[comm]=count();if(pid>2){print(1)}else if(pid){print(2);}else{exit()}}": """\
tracepoint:a:b,
kprobe:f
/pid == 1/
{
  @[comm] = count();
  if (pid > 2) {
    print(1)
  } else if (pid) {
    print(2);
  } else {
    exit()
  }
}
""",
    # comments stay where they stood; blank lines between statements and items, at most one
    """#!/usr/bin/env bpftrace
// top


begin{ // open
  // inside
  /*
   * block
   */
  print(1);


  print(2);  // behind
  /* before */ print(3)
  // last
}
end { } // nothing
""": """\
#!/usr/bin/env bpftrace
// top

begin
{ // open
  // inside
  /*
   * block
   */
  print(1);

  print(2); // behind
  /* before */
  print(3)
  // last
}

end
{ } // nothing
""",
    # the lines of the preprocessor and declarations of C
    """#include <linux/x.h>
#ifdef A
#define B \\
  1
#endif
struct s{int a:3;struct{char c [ 4 ];}*in;}__attribute__((packed));enum e { X,Y=2 };
config={max_strlen=64;}
import "a.bt";
import "b.bt";
let @m=lruhash(10);
macro add(x){x+1}
fn f($a:int64):int64{return $a;}
""": """\
#include <linux/x.h>
#ifdef A
#define B \\
  1
#endif
struct s {
  int a : 3;
  struct {
    char c[4];
  } *in;
} __attribute__((packed));

enum e {
  X, Y = 2
};

config = {
  max_strlen = 64;
}

import "a.bt";
import "b.bt";

let @m = lruhash(10);

macro add(x)
{
  x + 1
}

fn f($a: int64): int64
{
  return $a;
}
""",
    # expressions
    """begin { let $x:uint64=(uint64)-1; $y=-$x- -1; $z=$x?1:2; $s=pid ?: 1; @a[1,(2,)]+=$x*2; $p=*$x; $q=&$x;
$r=(a=1,b="x"); $t=!$x&&~$y|($x)-1; $i++; --$i; for($k:0..5){unroll(2){break;}} while(1){continue}
$u=(struct a *)$x; $v=((struct a*)$u)->b.c[0]; $w={ $a=1; $a }; $o=if(1){2}else{3}; printf("%d",
1,
2); $n = $x ||
$y; }""": """\
begin
{
  let $x: uint64 = (uint64)-1;
  $y = -$x - -1;
  $z = $x ? 1 : 2;
  $s = pid ?: 1;
  @a[1, (2,)] += $x * 2;
  $p = *$x;
  $q = &$x;
  $r = (a=1, b="x");
  $t = !$x && ~$y | ($x)-1;
  $i++;
  --$i;
  for ($k : 0..5) {
    unroll (2) {
      break;
    }
  }
  while (1) {
    continue
  }
  $u = (struct a *)$x;
  $v = ((struct a*)$u)->b.c[0];
  $w = {
    $a = 1;
    $a
  };
  $o = if (1) {
    2
  } else {
    3
  };
  printf("%d",
         1,
         2);
  $n = $x ||
      $y;
}
""",
    "": "",
    "// nothing else": "// nothing else\n",
}


@pytest.mark.parametrize(("text", "expected"), EXAMPLES.items(), ids=range(len(EXAMPLES)))
def test_layout(text, expected):
    """Protects that a script has one layout, and that it is one that people would write."""
    assert layout(text) == expected
    assert layout(expected) == expected


def test_what_is_no_script_is_told_as_always():
    with pytest.raises(ScriptError) as e:
        layout("begin { print( }")
    assert e.value.diagnostics[0].span.line == 1


def test_headers_and_parameters_need_not_be_there():
    """A script is formatted on any machine: nothing that it includes is read, no parameter is missing."""
    assert layout("#include <no/such/header.h>\nkprobe:$1 { print($2) }").endswith("kprobe:$1\n{\n  print($2)\n}\n")


def test_branches_that_do_not_count_are_kept():
    """What a condition leaves out is text all the same."""
    text = "#ifndef BPFTRACE_HAVE_BTF\nstruct x { int a; };\n#else\nstruct y { int b; };\n#endif\nbegin { }"
    assert "struct x {\n  int a;\n};" in layout(text)
    assert "struct y {\n  int b;\n};" in layout(text)
