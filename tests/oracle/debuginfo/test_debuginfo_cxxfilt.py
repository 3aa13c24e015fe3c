"""Demangled names against binutils' c++filt: all of libstdc++, and one name for each part of the grammar."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from probescope.debuginfo.demangle import demangle
from probescope.debuginfo.elf import ElfFile

pytestmark = pytest.mark.skipif(shutil.which("c++filt") is None, reason="needs binutils")

LIBSTDCXX = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"


def cxxfilt(names: list[str]) -> list[str]:
    output = subprocess.run(
        ["c++filt"], input="\n".join(names) + "\n", capture_output=True, text=True, check=True
    ).stdout
    return output.split("\n")[: len(names)]


@pytest.mark.skipif(not os.path.exists(LIBSTDCXX), reason="not on this architecture")
def test_libstdcxx() -> None:
    """97 of 100 names at least are equal to the letter; on the machines that we know all 5,866 are."""
    with ElfFile.open(LIBSTDCXX) as elf:
        names = sorted({s.name for s in elf.symbols() if s.name.startswith("_Z")})
    different = [(n, e, g) for n, e in zip(names, cxxfilt(names), strict=True) if (g := demangle(n)) != e]
    assert len(names) > 4000
    assert len(different) <= 0.03 * len(names), different[:5]


NAMES = """
_ZNSsC1Ev _ZN3fooIiEC1ERKS_ _Z1fPVKi _Z1fM3FooFviE _Z1fM3FooKFviE _Z1fPA3_i _Z1fRA3_A4_i _ZZ3fooIiEvT_E1x
_ZZN1A1fEvENKUliE_clEi _ZN1AcvT_IiEEv _ZlsRSoRK1A _Z1fIiEvDTcl1gfp_EE _Z1fIJidEEvDpT_ _Z1fIJEEvDpT_ _ZN1AIJEE1fEv
_Z1fILb1ELc97ELj7ELm9EEvv _ZTv0_n24_N1A1fEv _ZThn16_N1A1fEv _ZTCSd0_Si _ZGVZ1fvE1x _ZGRL1x_ _ZN12_GLOBAL__N_11fEv
_Z1fDn _ZN1AltIiEEvv _ZN1AlsIiEEvv _Z1fv.part.0.cold _Z1fv.constprop.0.isra.1 _Z1fv@@VER _Z1fPFvvE _Z1fPFPFvvEiE
_Z1fDv4_f _Z1fCd _ZN1fB5cxx11Ev _Z3barIiEPFvT_Ev _Z1fu8__mytag _ZN1A1BIiEC2IdEERKNS0_IT_EE _ZTSFvvE _Z1fO1A
_ZZ1fvENKUlT_E_clIiEEDaS_ _ZZ1fvE1s _ZZ1fvEs _ZZ1fvEs_0 _ZUlvE_ _ZZ1fvENUt0_1gEv _Zli2_kv _ZNKR1A1fEv _ZNO1A1fEv
_ZNVK1A1fEv _Z1fIXadL_Z1gvEEEvv _Z1fIXgtLi1ELi2EEEvv _Z1fILin5EEvv _Z1fILDnEEvv _Z1fg _Z1fDF16_ _Z1fDh
_Z1fIivET0_T_z _Z1fIiEDTplfp_Li1EET_ _Z1fIiEDTcmfp_fp_ET_ _Z1fIiEDTclsr3stdE4movefp_EET_ _Z1fIiEDTcvT_fp_ES0_
_Z1fIJidEEDTsZT_EDpT_ _Z1fIiEDTstT_ES0_ _Z1fIiEDTszfp_ET_ _Z1fIiEDTixfp_Li0EET_ _Z1fIiEDTdtfp_1xET_ _Z1fIiEDTptfp_1xET_
_Z1fIiEDTscT_Li1EES0_ _Z1fIiEDTtlT_Li1EEES0_ _Z1fIiEDTilLi1ELi2EEET_ _Z1fIiEDTppfp_ET_ _Z1fIiEDTpp_fp_ET_
_Z1fIiEDTngfp_ET_ _Z1fIiEDTntfp_ET_ _Z1fIiEDTadfp_ET_ _Z1fIiEDTnw_T_EES0_ _Z1fIiEDTdlfp_ET_ _Z1fIiEDTtwfp_ET_
_Z1fIXsr3std7is_sameIiiEE5valueEEvv _Z1fIXsrSt7is_sameIiiE5valueEEvv _Z1fIJidEEvDpRKT_ _Z1fIJidEEvDpOT_
_Z1fILm4EEvRAT__i _Z1fM1AKFvvEMS_i _ZN1A1BC2Ev _ZN1A1BD0Ev _ZNKSt4lessIiEclERKiS2_
_ZN9__gnu_cxxmiIPKcS2_SsEEDTmicldtfp_4baseEcldtfp0_4baseEERKNS_17__normal_iteratorIT_T1_EERKNS4_IT0_S6_EE
_GLOBAL__I_a _GLOBAL__sub_I_foo _Z _ZN _Zfoo _ZSt _Z1 _Z99x _ZdlPv _Znwm _ZnwmSt11align_val_t
_ZSt4endlIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_
_ZNSt6thread8_InvokerISt5tupleIJZ4mainEUlvE_EEE9_M_invokeIJLm0EEEEvSt12_Index_tupleIJXspT_EEE
_Z1fU8__vectorf _Z1fPDoFvvE _ZTT1A _ZTI1A _ZTH1x _ZTW1x _ZN1AC2EOS_ _ZN1AaSERKS_ _ZN1AixEi _ZN1AclEv _ZN1AptEv
_ZN1AcvbEv _ZN1AcvPKcEv _ZN1AssERKS_ _Z1fRA_KcPA_i _Z1fIM1AFvvEEvT_ _Z1fIXadL_Z6is_infIfEbT_EEXadL_ZS0_IdEbS1_EEEvv
main _start printf _Z3fooi.llvm.123
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_each_part_of_the_grammar(name: str) -> None:
    """Equal to the letter, and what c++filt leaves alone we leave alone."""
    (expected,) = cxxfilt([name])
    assert demangle(name) == expected


# Where we differ on purpose: name -> what we write. c++filt 2.40 counts the parameters of an unexpanded pack as 0, has
# no noexcept(...), writes ">>" behind empty packs and ", ," for empty ones in the middle, repeats the class for the
# constructor of an unnamed type, and lets template parameters of an inner scope leak out.
DIFFERENT = {
    "_Z1fIJidEEvDTsZfp_E": "void f<int, double>(decltype (sizeof...({parm#1})))",
    "_Z1fIiEDTnxfp_ET_": "decltype (noexcept({parm#1})) f<int>(int)",
    "_ZN1AIS_IiEJEE1fEv": "A<A<int> >::f()",
    "_Z1fIJEEvDpT_i": "void f<>(int)",
    "_ZN1AUt_C1Ev": "A::{unnamed type#1}::{unnamed type#1}()",
}


@pytest.mark.parametrize("name", sorted(DIFFERENT))
def test_differences_are_known(name: str) -> None:
    """Each is a choice; if binutils comes to agree with us, so much the better."""
    assert demangle(name) == DIFFERENT[name]


RUST = """
_RNvCs1234_7mycrate3foo _RNvMs_NtCslNYArtu3iFV_5alloc7raw_vecNtB4_3Foo8grow_one
_RINvNtCs1_3std3mem8align_ofNtNtCs1_3std3mem12DiscriminantE _RNvXs_NtCs1_4core3fmtNtB4_5ErrorNtB4_7Display3fmt
_RNCNvCs1_7mycrate4main0 _RNCNCNvCs1_7mycrate4main00 _RINvCs1_1a1fRShE _RINvCs1_1a1fTlmEE _RINvCs1_1a1fPOhE
_RINvCs1_1a1fFUKCEuE _RINvCs1_1a1fDNtB2_1TEL_E _RNvYNtCs1_1a1SNtB3_1T1f _RINvCs1_1a1fQhE
""".split()


@pytest.mark.parametrize("name", RUST)
def test_rust_v0(name: str) -> None:
    """Equal but for the crates' hashes, which we do not show, and the types of constants."""
    (expected,) = cxxfilt([name])
    assert demangle(name) == re.sub(r"\[[0-9a-f]+\]", "", expected)
