extern int f(const char *, ...) __asm__("f2") __attribute__((format(printf, 1, 2), __nonnull__ (1)));
struct __attribute__((packed)) s { char a __attribute__((aligned(8))); int b; } __attribute__((unused));
static __inline__ __attribute__((always_inline)) int g(int x) {
  __extension__ typedef long long ll; __typeof__(x) y = ({ int z = x; z + 1; });
  __asm__ volatile ("nop" : "=r" (y) : "0" (x), [in] "m" (y) : "memory", "cc"); asm("nop");
  static void *t[] = { &&one, &&two }; goto *t[x]; one: two: switch (x) { case 1 ... 3: return x ?: y; }
  __builtin_va_list ap; return __builtin_offsetof(struct s, b) + __builtin_types_compatible_p(int, long) + __alignof__(int);
}
unsigned __int128 big; _Float128 q; __auto_type r = 1; int range[] = { [0 ... 3] = 1 };
