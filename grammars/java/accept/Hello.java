package org.example.hello;

import java.util.List;
import static java.util.Map.*;

/** Says hello. */
public class Hello {
    public static void main(String[] args) throws Exception {
        System.out.println("Hello, " + args.length + '!'); // and no more
    }
}
