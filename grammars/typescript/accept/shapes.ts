type Shape = { kind: "circle"; radius: number } | { kind: "square"; side: number } | { kind: "point" };
function area(shape: Shape): number {
  switch (shape.kind) {
    case "circle": return Math.PI * shape.radius * shape.radius;
    case "square": { const side = shape.side; return side * side; }
    case "point": return 0;
  }
}
function name(shape: Shape): "round" | "angular" {
  if (shape.kind === "circle") { return "round"; }
  if (shape.kind === "square") return "angular"; else return shape.kind === "point" ? "round" : "angular";
}
const total = [{ kind: "circle", radius: 1 }, { kind: "square", side: 2 }].length;
const shapes: Shape[] = [{ kind: "circle", radius: 1 }, { kind: "point" }];
const areas = shapes.map(area);
const sum: number = areas[0] + areas.map(x => x * 2)[1] + total;
