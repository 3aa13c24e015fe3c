/* Marks in programs: probes that cost a nop while nobody listens. C99 and C++11 or later, gcc and clang, x86-64 and
 * AArch64; elsewhere, and where PROBESCOPE_OFF is defined, they are nothing at all.
 *
 *     PROBESCOPE_POINT(app, request, id, path);    a probe app:request with two arguments
 *     PROBESCOPE_BEGIN(app, parse, size);          a span begins here ...
 *     PROBESCOPE_END(app, parse);                  ... and ends here
 *     PROBESCOPE_SPAN(app, parse, size);           begins here, ends with the block, whichever way it is left
 *     PROBESCOPE_SPAN_NAMED(app, parse);           once in each C file that has PROBESCOPE_SPAN(app, parse), outside
 *                                                  of functions; in C++ it may be left out
 *     PROBESCOPE_LAZY(app, dump, dear(x));         arguments are evaluated while somebody listens, and only then
 *     if (PROBESCOPE_ON(app, dump))                whether somebody listens to that PROBESCOPE_LAZY
 *
 * Up to eight arguments: integers, pointers, enumerations, floating point (as bits). Provider and name are identifiers,
 * and no macros. The probes are those of USDT:
 *
 *     probescope run -e 'usdt:./app:app:request { printf("%d %s\n", arg0, str(arg1)); }'
 *     probescope span --mark parse --by arg0 -x ./app -- ./app
 *
 * What the compiler leaves at each place is a nop and, in a section that is not loaded, a note that debuggers read:
 *
 *     .note.stapsdt   name size, descriptor size, type 3, "stapsdt\0"
 *                     place, base, semaphore (8 bytes each), "provider\0" "name\0" "4@%edi 8@$1\0"
 *
 * An argument is its size, negative if it is signed, an @, and the operand where the compiler put it. The base is where
 * .stapsdt.base lies, from which readers tell by how much prelink moved the file. A semaphore counts who listens; the
 * kernel does that, in each process.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBESCOPE_H
#define PROBESCOPE_H

#pragma GCC system_header /* no warnings for what is in here, such as -Wpedantic's */

#if !defined(PROBESCOPE_OFF) && defined(__ELF__) && defined(__GNUC__) && defined(__LP64__) && \
    (defined(__x86_64__) || defined(__aarch64__))
#define PROBESCOPE_ACTIVE 1
#else
#define PROBESCOPE_ACTIVE 0
#endif

#define PROBESCOPE_X_TEXT(x) PROBESCOPE_X_TEXT_(x)
#define PROBESCOPE_X_TEXT_(x) #x
#define PROBESCOPE_X_JOIN(a, b) PROBESCOPE_X_JOIN_(a, b)
#define PROBESCOPE_X_JOIN_(a, b) a##b

#if PROBESCOPE_ACTIVE

/* --- what arguments are: their size, negative if signed, and a value that fits a register ------------------------- */

#ifdef __cplusplus
namespace probescope_x {
/* never called: arrays become pointers, references values, small integers int */
template <typename T> T plain(T);
int plain(bool);
int plain(char);
int plain(signed char);
int plain(unsigned char);
int plain(short);
int plain(unsigned short);
template <typename T> struct kind { enum { value = __is_enum(T) ? 2 : 0 }; };
template <> struct kind<int> { enum { value = 1 }; };
template <> struct kind<long> { enum { value = 1 }; };
template <> struct kind<long long> { enum { value = 1 }; };
template <typename T, int> struct sign { enum { negative = 0 }; };
template <typename T> struct sign<T, 1> { enum { negative = 1 }; };
template <typename T> struct sign<T, 2> {
    typedef __underlying_type(T) number;
    enum { negative = static_cast<number>(-1) < static_cast<number>(1) };
};
template <typename T> struct shape {
    static const int size = static_cast<int>(sizeof(T));
    static const int value = sign<T, kind<T>::value>::negative ? -size : size;
};
} /* namespace probescope_x */
#define PROBESCOPE_X_VALUE(x) static_cast<decltype(::probescope_x::plain(x))>(x)
#define PROBESCOPE_X_SHAPE(x) (::probescope_x::shape<decltype(::probescope_x::plain(x))>::value + 0)
#else
/* both ways of ?: the same: arrays become pointers, small integers int; class 1 of gcc's are the integers */
#define PROBESCOPE_X_VALUE(x) (1 ? (x) : (x))
#define PROBESCOPE_X_NUMBER(x) \
    __builtin_choose_expr(__builtin_classify_type(PROBESCOPE_X_VALUE(x)) == 1, PROBESCOPE_X_VALUE(x), 0u)
#define PROBESCOPE_X_SIGNED(x) ((__typeof__(PROBESCOPE_X_NUMBER(x)))(-1) < (__typeof__(PROBESCOPE_X_NUMBER(x)))(1))
#define PROBESCOPE_X_SHAPE(x) \
    (PROBESCOPE_X_SIGNED(x) ? -(int)sizeof(PROBESCOPE_X_VALUE(x)) : (int)sizeof(PROBESCOPE_X_VALUE(x)))
#endif

/* A number that is known, or a register: what lies in memory may have no name left when the file is stripped. */
#define PROBESCOPE_X_IN(n, x) [s##n] "n"(PROBESCOPE_X_SHAPE(x)), [a##n] "nr"(PROBESCOPE_X_VALUE(x))

/* --- the nop and its note ----------------------------------------------------------------------------------------- */

#define PROBESCOPE_X_NOTE(provider, name, semaphore, arguments) \
    "990:\tnop\n" \
    "\t.pushsection .note.stapsdt, \"?\", \"note\"\n" \
    "\t.balign 4\n" \
    "\t.4byte 992f - 991f, 994f - 993f, 3\n" \
    "991:\t.asciz \"stapsdt\"\n" \
    "992:\t.balign 4\n" \
    "993:\t.8byte 990b, _.stapsdt.base, " semaphore "\n" \
    "\t.asciz \"" PROBESCOPE_X_TEXT(provider) "\"\n" \
    "\t.asciz \"" PROBESCOPE_X_TEXT(name) "\"\n" \
    "\t.asciz \"" arguments "\"\n" \
    "994:\t.balign 4\n" \
    "\t.popsection\n" \
    "\t.ifndef _.stapsdt.base\n" \
    "\t.pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n" \
    "\t.weak _.stapsdt.base\n" \
    "\t.hidden _.stapsdt.base\n" \
    "_.stapsdt.base:\n" \
    "\t.zero 1\n" \
    "\t.size _.stapsdt.base, 1\n" \
    "\t.popsection\n" \
    "\t.endif\n"

/* One counter of two bytes for each probe of a file, however many places it has. */
#define PROBESCOPE_X_COUNTER(symbol) \
    "\t.ifndef " symbol "\n" \
    "\t.pushsection .probes, \"awG\", \"progbits\", " symbol ", comdat\n" \
    "\t.balign 2\n" \
    "\t.weak " symbol "\n" \
    "\t.hidden " symbol "\n" \
    "\t.type " symbol ", \"object\"\n" \
    "\t.size " symbol ", 2\n" \
    symbol ":\n" \
    "\t.zero 2\n" \
    "\t.popsection\n" \
    "\t.endif\n"
#define PROBESCOPE_X_SYMBOL(provider, name) PROBESCOPE_X_TEXT(provider) "_" PROBESCOPE_X_TEXT(name) "_semaphore"

#define PROBESCOPE_X_A1 "%c[s1]@%[a1]"
#define PROBESCOPE_X_A2 PROBESCOPE_X_A1 " %c[s2]@%[a2]"
#define PROBESCOPE_X_A3 PROBESCOPE_X_A2 " %c[s3]@%[a3]"
#define PROBESCOPE_X_A4 PROBESCOPE_X_A3 " %c[s4]@%[a4]"
#define PROBESCOPE_X_A5 PROBESCOPE_X_A4 " %c[s5]@%[a5]"
#define PROBESCOPE_X_A6 PROBESCOPE_X_A5 " %c[s6]@%[a6]"
#define PROBESCOPE_X_A7 PROBESCOPE_X_A6 " %c[s7]@%[a7]"
#define PROBESCOPE_X_A8 PROBESCOPE_X_A7 " %c[s8]@%[a8]"
#define PROBESCOPE_X_IN1(a) PROBESCOPE_X_IN(1, a)
#define PROBESCOPE_X_IN2(a, b) PROBESCOPE_X_IN1(a), PROBESCOPE_X_IN(2, b)
#define PROBESCOPE_X_IN3(a, b, c) PROBESCOPE_X_IN2(a, b), PROBESCOPE_X_IN(3, c)
#define PROBESCOPE_X_IN4(a, b, c, d) PROBESCOPE_X_IN3(a, b, c), PROBESCOPE_X_IN(4, d)
#define PROBESCOPE_X_IN5(a, b, c, d, e) PROBESCOPE_X_IN4(a, b, c, d), PROBESCOPE_X_IN(5, e)
#define PROBESCOPE_X_IN6(a, b, c, d, e, f) PROBESCOPE_X_IN5(a, b, c, d, e), PROBESCOPE_X_IN(6, f)
#define PROBESCOPE_X_IN7(a, b, c, d, e, f, g) PROBESCOPE_X_IN6(a, b, c, d, e, f), PROBESCOPE_X_IN(7, g)
#define PROBESCOPE_X_IN8(a, b, c, d, e, f, g, h) PROBESCOPE_X_IN7(a, b, c, d, e, f, g), PROBESCOPE_X_IN(8, h)

/* What tracers read by an argument has to be in memory by then: nothing that is written moves across a point. */
#define PROBESCOPE_X_P0(m, s, p, n) __asm__ __volatile__(m PROBESCOPE_X_NOTE(p, n, s, "") : : : "memory")
#define PROBESCOPE_X_PN(k, m, s, p, n, ...) \
    __asm__ __volatile__(m PROBESCOPE_X_NOTE(p, n, s, PROBESCOPE_X_A##k) : : PROBESCOPE_X_IN##k(__VA_ARGS__) : "memory")
#define PROBESCOPE_X_P1(m, s, p, n, ...) PROBESCOPE_X_PN(1, m, s, p, n, __VA_ARGS__)
#define PROBESCOPE_X_P2(m, s, p, n, ...) PROBESCOPE_X_PN(2, m, s, p, n, __VA_ARGS__)
#define PROBESCOPE_X_P3(m, s, p, n, ...) PROBESCOPE_X_PN(3, m, s, p, n, __VA_ARGS__)
#define PROBESCOPE_X_P4(m, s, p, n, ...) PROBESCOPE_X_PN(4, m, s, p, n, __VA_ARGS__)
#define PROBESCOPE_X_P5(m, s, p, n, ...) PROBESCOPE_X_PN(5, m, s, p, n, __VA_ARGS__)
#define PROBESCOPE_X_P6(m, s, p, n, ...) PROBESCOPE_X_PN(6, m, s, p, n, __VA_ARGS__)
#define PROBESCOPE_X_P7(m, s, p, n, ...) PROBESCOPE_X_PN(7, m, s, p, n, __VA_ARGS__)
#define PROBESCOPE_X_P8(m, s, p, n, ...) PROBESCOPE_X_PN(8, m, s, p, n, __VA_ARGS__)

/* --- by the number of arguments behind provider and name ----------------------------------------------------------- */

#define PROBESCOPE_X_COUNT(...) PROBESCOPE_X_COUNT_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0, a_name_is_missing, _)
#define PROBESCOPE_X_COUNT_(p, n, a, b, c, d, e, f, g, h, count, ...) count
#define PROBESCOPE_X_FIRST(first, ...) first
#define PROBESCOPE_X_SECOND(...) PROBESCOPE_X_SECOND_(__VA_ARGS__, _)
#define PROBESCOPE_X_SECOND_(first, second, ...) second
#define PROBESCOPE_X_CALL(m, s, ...) \
    PROBESCOPE_X_JOIN(PROBESCOPE_X_P, PROBESCOPE_X_COUNT(__VA_ARGS__))(m, s, __VA_ARGS__)

#define PROBESCOPE_POINT(...) PROBESCOPE_X_CALL("", "0", __VA_ARGS__)

/* p, n, arguments -> p, n__begin, arguments: the name is what is joined, so each count has its own form */
#define PROBESCOPE_BEGIN(...) \
    PROBESCOPE_X_JOIN(PROBESCOPE_X_B, PROBESCOPE_X_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define PROBESCOPE_X_B0(p, n) PROBESCOPE_X_P0("", "0", p, PROBESCOPE_X_JOIN(n, __begin))
#define PROBESCOPE_X_BN(k, p, n, ...) PROBESCOPE_X_PN(k, "", "0", p, PROBESCOPE_X_JOIN(n, __begin), __VA_ARGS__)
#define PROBESCOPE_X_B1(p, n, ...) PROBESCOPE_X_BN(1, p, n, __VA_ARGS__)
#define PROBESCOPE_X_B2(p, n, ...) PROBESCOPE_X_BN(2, p, n, __VA_ARGS__)
#define PROBESCOPE_X_B3(p, n, ...) PROBESCOPE_X_BN(3, p, n, __VA_ARGS__)
#define PROBESCOPE_X_B4(p, n, ...) PROBESCOPE_X_BN(4, p, n, __VA_ARGS__)
#define PROBESCOPE_X_B5(p, n, ...) PROBESCOPE_X_BN(5, p, n, __VA_ARGS__)
#define PROBESCOPE_X_B6(p, n, ...) PROBESCOPE_X_BN(6, p, n, __VA_ARGS__)
#define PROBESCOPE_X_B7(p, n, ...) PROBESCOPE_X_BN(7, p, n, __VA_ARGS__)
#define PROBESCOPE_X_B8(p, n, ...) PROBESCOPE_X_BN(8, p, n, __VA_ARGS__)
#define PROBESCOPE_END(p, n) PROBESCOPE_X_P0("", "0", p, PROBESCOPE_X_JOIN(n, __end))

/* --- probes that say whether somebody listens ----------------------------------------------------------------------- */

#define PROBESCOPE_X_LISTENERS(p, n) \
    extern unsigned short probescope_x_listeners __asm__(PROBESCOPE_X_SYMBOL(p, n)) \
        __attribute__((visibility("hidden")))
#define PROBESCOPE_ON(p, n) \
    __extension__({ \
        __asm__ __volatile__(PROBESCOPE_X_COUNTER(PROBESCOPE_X_SYMBOL(p, n))); \
        PROBESCOPE_X_LISTENERS(p, n); \
        __builtin_expect(*(volatile unsigned short *)&probescope_x_listeners != 0, 0); \
    })
#define PROBESCOPE_LAZY(...) \
    do { \
        if (PROBESCOPE_ON(PROBESCOPE_X_FIRST(__VA_ARGS__, _), PROBESCOPE_X_SECOND(__VA_ARGS__))) \
            PROBESCOPE_X_CALL( \
                PROBESCOPE_X_COUNTER( \
                    PROBESCOPE_X_SYMBOL(PROBESCOPE_X_FIRST(__VA_ARGS__, _), PROBESCOPE_X_SECOND(__VA_ARGS__))), \
                PROBESCOPE_X_SYMBOL(PROBESCOPE_X_FIRST(__VA_ARGS__, _), PROBESCOPE_X_SECOND(__VA_ARGS__)), \
                __VA_ARGS__); \
    } while (0)

/* --- spans of a block ----------------------------------------------------------------------------------------------- */

#ifdef __cplusplus
#define PROBESCOPE_SPAN_NAMED(p, n) struct probescope_x_named
#define PROBESCOPE_SPAN(...) \
    PROBESCOPE_X_SPAN(PROBESCOPE_X_JOIN(probescope_x_span_, __LINE__), PROBESCOPE_X_FIRST(__VA_ARGS__, _), \
                      PROBESCOPE_X_SECOND(__VA_ARGS__)); \
    PROBESCOPE_BEGIN(__VA_ARGS__)
#define PROBESCOPE_X_SPAN(type, p, n) \
    struct type { \
        type() {} \
        ~type() { PROBESCOPE_END(p, n); } \
    } PROBESCOPE_X_JOIN(type, _here)
#else
#define PROBESCOPE_X_ENDS(p, n) PROBESCOPE_X_JOIN(PROBESCOPE_X_JOIN(probescope_x_end_, p), PROBESCOPE_X_JOIN(_, n))
#define PROBESCOPE_SPAN_NAMED(p, n) \
    static inline __attribute__((unused)) void PROBESCOPE_X_ENDS(p, n)(const char *here) \
    { \
        (void)here; \
        PROBESCOPE_END(p, n); \
    } \
    struct probescope_x_named
#define PROBESCOPE_SPAN(...) \
    __attribute__((unused, cleanup(PROBESCOPE_X_ENDS(PROBESCOPE_X_FIRST(__VA_ARGS__, _), \
                                                     PROBESCOPE_X_SECOND(__VA_ARGS__))))) \
    const char PROBESCOPE_X_JOIN(probescope_x_span_, __LINE__) = 0; \
    PROBESCOPE_BEGIN(__VA_ARGS__)
#endif

#else /* nothing */

#define PROBESCOPE_POINT(...) ((void)0)
#define PROBESCOPE_BEGIN(...) ((void)0)
#define PROBESCOPE_END(...) ((void)0)
#define PROBESCOPE_SPAN(...) ((void)0)
#define PROBESCOPE_LAZY(...) ((void)0)
#define PROBESCOPE_ON(...) 0
#define PROBESCOPE_SPAN_NAMED(...) struct probescope_x_named

#endif
#endif
