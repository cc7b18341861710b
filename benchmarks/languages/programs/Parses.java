import com.sun.source.util.JavacTask;
import java.io.DataInputStream;
import java.net.URI;
import java.util.List;
import javax.tools.*;

public class Parses {
    public static void main(String[] arguments) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null);
        DataInputStream in = new DataInputStream(System.in);
        while (true) {
            int size;
            try { size = in.readInt(); } catch (java.io.EOFException end) { return; }
            String text = new String(in.readNBytes(size), "UTF-8");
            DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
            JavaFileObject file = new SimpleJavaFileObject(URI.create("string:///A.java"), JavaFileObject.Kind.SOURCE) {
                @Override public CharSequence getCharContent(boolean ignore) { return text; }
            };
            JavacTask task = (JavacTask) compiler.getTask(null, manager, found, List.of(), null, List.of(file));
            String answer = "ok";
            try {
                task.parse();
                for (Diagnostic<?> each : found.getDiagnostics())
                    if (each.getKind() == Diagnostic.Kind.ERROR) { answer = each.getCode(); break; }
            } catch (RuntimeException fault) { answer = "fault"; }
            System.out.println(answer);
        }
    }
}
