const ts = require("typescript"), lines = require("node:readline").createInterface({ input: process.stdin });
const options = {
  strict: true, noEmit: true, target: ts.ScriptTarget.ES2022, lib: ["lib.es2022.d.ts"], types: [],
  module: ts.ModuleKind.ES2022, moduleDetection: ts.ModuleDetectionKind.Force,
};
const console_ = "declare const console: { log(...data: any[]): void; error(...data: any[]): void; "
  + "warn(...data: any[]): void; info(...data: any[]): void; debug(...data: any[]): void };";
const kept = new Map(), host = ts.createCompilerHost(options), read = host.getSourceFile.bind(host);
lines.on("line", (line) => {
  const texts = JSON.parse(line), names = texts.map((_, i) => `/programs/p${i}.ts`);
  const here = new Map(names.map((name, i) => [name, texts[i]])).set("/programs/console.d.ts", console_);
  host.getSourceFile = (name, target) => {
    if (here.has(name)) return ts.createSourceFile(name, here.get(name), target);
    if (!kept.has(name)) kept.set(name, read(name, target));
    return kept.get(name);
  };
  host.fileExists = (name) => here.has(name);
  const program = ts.createProgram([...names, "/programs/console.d.ts"], options, host);
  const answer = names.map((name) => {
    const file = program.getSourceFile(name);
    const syntax = program.getSyntacticDiagnostics(file);
    const found = syntax.length ? syntax : program.getSemanticDiagnostics(file);
    return found.map((one) => [one.code, one.start, one.length, ts.flattenDiagnosticMessageText(one.messageText, " ")]);
  });
  process.stdout.write(JSON.stringify(answer) + "\n");
});
