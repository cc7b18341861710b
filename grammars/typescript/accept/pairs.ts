type Pair<A, B> = { first: A; second: B };
function swap<A, B>(pair: Pair<A, B>): Pair<B, A> { return { first: pair.second, second: pair.first }; }
const pair: Pair<string, number> = { first: "a", second: 1 };
const swapped: Pair<number, string> = swap(pair);
class Box<T> { constructor(private value: T) {} get(): T { return this.value; } set(value: T): void {
  this.value = value; } }
const box = new Box(5);
box.set(box.get() + 1);
const texts = new Box<string[]>(["a"]);
texts.get().push("b");
