@interface Mark { int value() default 1; String[] names() default { "a", "b", }; Class<?> type() default Object.class; }
@Mark(2) @Deprecated(since = "1", forRemoval = true) abstract strictfp class A<T extends Object & Comparable<? super T>, U> extends B<int[]>.C<List<List<T>>> implements D, E<?> {
    private static final int X = 1, y[] = { 1, 2, }, z; @Mark volatile transient List<? extends @Mark String @Mark [] []> list;
    static { X++; } { y[0] = 1; } ;
    protected <V> A(V v, final int... rest) throws IOException, @Mark F { super(v); } A() { this(1); }
    abstract <V> V m(@Mark T this, int a[], byte b)[]; native synchronized void n(); public final long o() { return 1L; }
    class Inner { } interface I { default void p() { } private int q() { return 1; } static void r() { } int S = 1; }
    enum K { ONE, TWO(2) { int t() { return 1; } }, @Mark THREE, ; private K(int... x) { } } enum Empty { } enum L implements I { A, B, }
    record Point(int x, @Mark double... y) implements I { Point { if (x < 0) throw new E(); } Point() { this(1); } static int z; }
}
sealed interface S permits T, U { } non-sealed class T implements S { } final class U implements S { }
;
