class Animal { constructor(readonly name: string) {} speak(): string { return this.name; } }
class Dog extends Animal {
  tricks: string[] = [];
  constructor(name: string, private age: number) { super(name); this.age += 1; }
  speak(): string { return this.name + this.tricks.join(", ") + this.age; }
}
interface Named { name: string }
class Robot implements Named { name: string = "r2"; speak(): string { return this.name; } }
const animals: Animal[] = [new Dog("a", 1), new Animal("b")];
const named: Named[] = [new Dog("a", 2), new Robot(), { name: "c" }];
for (const each of animals) { if (each instanceof Dog) { each.tricks.push("roll"); } console.log(each.speak()); }
const first: Animal = new Robot();
