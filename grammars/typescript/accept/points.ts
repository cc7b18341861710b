interface Point { x: number; y: number; readonly label?: string }
function length(point: Point): number { return Math.sqrt(point.x * point.x + point.y * point.y); }
const points: Point[] = [{ x: 1, y: 2 }, { y: 0, x: -1.5, label: "left" }];
for (const point of points) {
  if (point.label !== undefined) { console.log(point.label.toUpperCase(), length(point).toFixed(2)); }
  else { console.log(`(${point.x}, ${point.y})`); }
}
