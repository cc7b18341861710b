"""Programs of TypeScript that its compiler accepts under --strict, and beginnings that nothing can complete."""

from __future__ import annotations

from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "grammars" / "typescript" / "accept"

OF_THE_COLLECTION = [
    (EXAMPLES / f"{name}.ts").read_text(encoding="utf-8").strip()
    for name in ("points", "shapes", "account", "animals", "list", "pairs")
]
OTHERS = r"""
const counts = new Map<string, number>();
for (const word of "a b a".split(" ")) {
  const count = counts.get(word);
  counts.set(word, count === undefined ? 1 : count + 1);
}
const seen = new Set<number>();
seen.add(1).add(2);
let most = 0;
counts.forEach((value, key) => { if (value > most) { most = value; console.log(key); } });
---
function parse(text: string): number | null { const value = parseInt(text, 10); return isNaN(value) ? null : value; }
function twice(text: string): number { const value = parse(text); if (value === null) {
  throw new Error("bad " + text); } return value * 2; }
---
const fib = (n: number): number => n < 2 ? n : fib(n - 1) + fib(n - 2);
const compose = (f: (x: number) => number, g: (x: number) => number) => (x: number) => f(g(x));
const increment = compose(x => x + 1, x => x * 2);
const run: number = increment(3) + fib(5);
const callbacks: (() => void)[] = [];
callbacks.push(() => console.log("hi"));
callbacks.push(() => { throw new Error("no"); });
const apply = (f: (a: string, b?: number) => string): string => f("a") + f("b", 2);
console.log(apply((a, b) => b === undefined ? a : a.repeat(b)), apply(a => a), apply(() => "c"));
---
function describe(value: string | number | boolean | null | undefined): string {
  if (typeof value === "string") { return value.trim(); }
  if (typeof value === "number") { return value.toFixed(1); }
  if (value === null || value === undefined) { return "nothing"; }
  return value ? "yes" : "no";
}
function size(value: string | string[]): number { return value.length; }
function first(value: string | string[]): string { return typeof value === "string" ? value : value[0]; }
---
let state: "idle" | "busy" = "idle";
let queue: string[] = [];
function start(job: string): void { if (state === "idle") { state = "busy"; queue.push(job); } else { queue = ["x",
  job]; } }
---
try { console.log(JSON.parse("1")); } catch (error) { if (error instanceof Error) { console.log(error.message); } }
finally { console.log("end"); }
function safe(f: () => number): number { try { return f(); } catch { return -1; } }
function never(): never { throw new Error("x"); }
function pick(n: number): string { if (n > 0) { return "a"; } never(); }
---
const limit = 3;
let i = 0;
while (true) { i++; if (i > limit) { break; } else { continue; } }
for (let k = 10; k >= 0; k -= 2) { if (k % 4 === 0) continue; console.log(k); }
for (const key in { a: 1 }) { console.log(key.length); }
function find(xs: number[], wanted: number): number { for (let k = 0; k < xs.length; k++) {
  if (xs[k] === wanted) return k; } return -1; }
function forever(): number { for (;;) { i += 1; if (i > 5) { return i; } } }
---
type Level = "low" | "high" | 3;
const levels: Level[] = ["low", 3];
let level: Level = "high";
level = levels.length > 1 ? "low" : 3;
---
const value = Math.random() > 0.5 ? "text" : 5;
const shown = typeof value === "string" ? value.length : value + 1;
const either = value || "none";
const both = shown > 1 && shown < 9;
let flag = false;
flag = !flag || both;
const text = "n: " + shown + ", " + both + null;
---
interface Tree { left: Tree | null; right: Tree | null; value: number }
function insert(tree: Tree | null, value: number): Tree {
  if (tree === null) { return { left: null, right: null, value }; }
  if (value < tree.value) { tree.left = insert(tree.left, value); } else { tree.right = insert(tree.right, value); }
  return tree;
}
function depth(tree: Tree | null): number { return tree ? 1 + Math.max(depth(tree.left), depth(tree.right)) : 0; }
function sum(tree: Tree | null): number { if (!tree) return 0; return tree.value + sum(tree.left) + sum(tree.right); }
---
interface User { name: string; email?: string; tags: string[] }
const users: User[] = [];
function mail(user: User): string { return user.email ?? user.name + "@here"; }
const found = users.find(user => user.name === "Ada");
const names: string[] = users.map(user => user.name).concat(["x"]).sort();
if (found) { found.tags.push(mail(found)); } else { users.push({ name: "Ada", tags: [] }); }
const long = users.filter(user => user.tags.length > 2).length + names.indexOf("x");
const some: boolean = users.some(user => user.email !== undefined && user.email.includes("@"));
---
export interface Options { depth: number; verbose?: boolean }
export function run(options: Options, ...files: string[]): number { return files.length + options.depth; }
---
export type Handler<T> = (value: T, done: (error: Error | null) => void) => void;
export const handle: Handler<number> = (value, done) => { if (value > 1) { done(null); } else {
  done(new Error("small")); } };
export class Store { items: Map<string, number> = new Map<string, number>(); has(key: string): boolean {
  return this.items.has(key); } }
const store = new Store();
store.items.set("a", 1);
const maybe = store.items.get("a");
const sure = maybe !== undefined ? maybe : 0;
---
const grid: number[][] = [[1, 2], [3]];
grid[0][1] = grid[1][0] * 2;
const row = grid[0];
let biggest = -Infinity;
grid.forEach(row => row.forEach(cell => { if (cell > biggest) biggest = cell; }));
const flat: string = grid.map(row => row.map(cell => `${cell}`).join(" ")).join("\n");
const dotted: number = 1. + 2.; const shown: string = 1..toFixed(2);
---
const no: false = !1;
const yes: true = !0;
if ((!1) || !(0)) { while (1) { break; } }
const some: string = "a";
const none: boolean = !some;
""".strip().split("\n---\n")
ACCEPTED = [*OF_THE_COLLECTION, *OTHERS]
