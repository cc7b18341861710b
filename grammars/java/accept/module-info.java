import a.B;
@Deprecated open module org.example.mod {
    requires transitive java.sql; requires static a.b;
    exports a.b.c; exports a.b to c, d.e; opens a; opens b to c;
    uses a.B; provides a.B with c.D, e.F;
}
