@A @B() @C(1) @D(a = 1, b = { 2, @E }, c = F.class) package p;
@A.B(x = "a" + "b", y = C ? 1 : 2) class G<@H T> { @I int @J [] k; void l(@M int @N ... o) { @P int q; List<@R ?> s; for (@T var u : v) ; try (@W X y = z) { } catch (@A B c) { } } @D <@E T> @F int g() { return new @H int @I [1]; } }
