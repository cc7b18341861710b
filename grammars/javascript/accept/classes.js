class A { }
class B extends (a, b) {
  static #count = 0; name; 'quoted' = 1; 2 = 3; [computed] = 4
  constructor(x) { super(x); super.y = new.target; }
  get x() { return this.#y } set x(v) { this.#y = v }
  static async *m() { } async n() { } *o() { } static { B.#count++ }
  #y; static = 1; get; set; async
  get() { } set() { } static() { } async() { } #z() { return #y in this }
  static get [a + b]() { } 'p'() { } 1() { }
}
const C = class extends B { }, D = class E { }
