/** Texts on slices, cut to their room without asking the browser for the width of each. */

const WIDTHS = new Map<string, number>();
const MOST = 20_000;

/** Width of a text in the font that the context has now, which must be the same for all. */
function widthOf(context: CanvasRenderingContext2D, text: string, font: string): number {
  const key = font + text;
  let width = WIDTHS.get(key);
  if (width === undefined) {
    if (WIDTHS.size > MOST) WIDTHS.clear();
    width = context.measureText(text).width;
    WIDTHS.set(key, width);
  }
  return width;
}

/** As much of a text as fits, with an ellipsis where it was cut; nothing if that would be no help. */
export function shorten(text: string, width: number, room: number): string {
  if (width <= room) return text;
  const letters = Math.floor((text.length * room) / width) - 1;
  return letters < 2 ? "" : `${text.slice(0, letters)}…`;
}

export interface Label {
  text: string;
  x0: number;
  x1: number;
  /** The middle of its lane. */
  y: number;
}

export function drawLabels(context: CanvasRenderingContext2D, labels: Label[], font: string, colour: string): void {
  context.font = font;
  context.fillStyle = colour;
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const { text, x0, x1, y } of labels) {
    const room = x1 - x0 - 6;
    const cut = shorten(text, widthOf(context, text, font), room);
    if (cut) context.fillText(cut, Math.round(x0) + 4, y);
  }
}
