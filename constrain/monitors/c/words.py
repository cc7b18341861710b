"""The keywords of C (ISO/IEC 9899:2018, section 6.4.1), and of GNU C that the collection's grammar has."""

STORAGE = frozenset(
    "extern static auto register inline _Noreturn _Thread_local const volatile restrict __thread __inline __inline__"
    " __extension__ __const __const__ __volatile __volatile__ __restrict __restrict__ typedef _Atomic".split()
)
BUILT_IN = frozenset(
    "void char short int long float double signed unsigned _Bool _Complex __signed __signed__ __complex __complex__"
    " __int128 __float128 _Float16 _Float32 _Float64 _Float128 _Float32x _Float64x __auto_type __builtin_va_list"
    " __int128_t __uint128_t".split()
)
UNSEEN = frozenset({"__auto_type", "__builtin_va_list"})  # built-in types of which nothing is known
WITH_PARENTHESES = frozenset(
    "__attribute__ __attribute typeof __typeof __typeof__ _Alignas _Atomic".split()
)  # specifiers before a parenthesis
TYPEOF = frozenset({"typeof", "__typeof", "__typeof__"})
TAGGED = frozenset({"struct", "union", "enum"})
SPECIFIERS = STORAGE | BUILT_IN | WITH_PARENTHESES | TAGGED
IGNORED = frozenset(
    "asm __asm __asm__ _Static_assert static_assert __label__ break continue".split()
)  # statements that are not read
SIZES = frozenset("sizeof _Alignof __alignof __alignof__".split())
UNARY = frozenset("__real __real__ __imag __imag__ __extension__".split())
HEADS = frozenset("if while switch for do else case default goto return".split())
KEYWORDS = SPECIFIERS | IGNORED | SIZES | UNARY | HEADS | {"_Generic"}
RESERVED = ("__",)  # prefixes of names that belong to the compiler and its library
ALWAYS = ("linux", "unix")  # GNU C defines them
