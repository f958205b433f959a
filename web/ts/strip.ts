// The strip of times: a span of it narrows the list. It is drawn with the
// pointer, or with the arrow keys and Enter.

import { one } from "./dom";
import { say, text } from "./texts";

/** strip makes the page's strip of times one to choose from. */
export function strip(): void {
  const figure = one("#strip");
  const brush = one<SVGRectElement>("#strip .brush");
  const svg = one<SVGSVGElement>("#strip svg");
  if (figure && brush && svg) new Strip(figure, svg, brush);
}

class Strip {
  private readonly from: number; // milliseconds since 1970
  private readonly step = 30 * 60 * 1000;
  private readonly columns: number;
  private readonly width: number; // of a column
  private anchor = -1;
  private head = -1;

  constructor(
    private readonly figure: HTMLElement,
    private readonly svg: SVGSVGElement,
    private readonly brush: SVGRectElement,
  ) {
    this.from = Date.parse(figure.dataset["from"] ?? "");
    this.width = 10;
    this.columns = svg.viewBox.baseVal.width / this.width;
    figure.tabIndex = 0;
    figure.setAttribute("role", "group");
    figure.setAttribute("aria-label", figure.dataset["help"] ?? "");
    figure.addEventListener("pointerdown", (e) => this.down(e));
    figure.addEventListener("pointermove", (e) => {
      if (figure.hasPointerCapture(e.pointerId)) this.to(this.column(e));
    });
    figure.addEventListener("pointerup", (e) => {
      if (figure.hasPointerCapture(e.pointerId)) this.choose();
    });
    figure.addEventListener("pointercancel", () => this.clear());
    figure.addEventListener("keydown", (e) => this.key(e));
  }

  private down(e: PointerEvent): void {
    if (e.button !== 0) return;
    e.preventDefault();
    this.figure.setPointerCapture(e.pointerId);
    this.anchor = this.column(e);
    this.to(this.anchor);
  }

  private column(e: PointerEvent): number {
    const box = this.svg.getBoundingClientRect();
    return this.inside(Math.floor(((e.clientX - box.left) / box.width) * this.columns));
  }

  private inside(column: number): number {
    return Math.min(this.columns - 1, Math.max(0, column));
  }

  private key(e: KeyboardEvent): void {
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -this.columns, End: this.columns }[e.key];
    if (by !== undefined) {
      e.preventDefault();
      const at = this.head < 0 ? this.columns - 1 : this.inside(this.head + by);
      if (!e.shiftKey || this.anchor < 0) this.anchor = at;
      this.to(at);
      say(text("span", this.span()));
    } else if (e.key === "Enter" && this.anchor >= 0) {
      e.preventDefault();
      this.choose();
    } else if (e.key === "Escape") {
      this.clear();
    }
  }

  private to(column: number): void {
    this.head = column;
    const first = Math.min(this.anchor, this.head);
    this.brush.setAttribute("x", String(first * this.width));
    this.brush.setAttribute("width", String((Math.abs(this.anchor - this.head) + 1) * this.width));
  }

  private clear(): void {
    this.anchor = this.head = -1;
    this.brush.setAttribute("width", "0");
  }

  private moments(): [Date, Date] {
    const first = Math.min(this.anchor, this.head);
    const last = Math.max(this.anchor, this.head);
    return [new Date(this.from + first * this.step), new Date(this.from + (last + 1) * this.step)];
  }

  private span(): { from: string; to: string } {
    const form = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", hour12: false });
    const [from, to] = this.moments();
    return { from: form.format(from), to: form.format(to) };
  }

  /** choose narrows the list to the span, with the rest of the filter as it is. */
  private choose(): void {
    const form = one<HTMLFormElement>("form.filters");
    if (!form) return;
    const [from, to] = this.moments();
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (typeof value === "string" && value !== "" && !["range", "since", "until"].includes(name)) query.append(name, value);
    }
    query.set("since", seconds(from));
    query.set("until", seconds(to));
    location.assign(`/audit?${query}`);
  }
}

function seconds(at: Date): string {
  return at.toISOString().replace(/\.\d+Z$/, "Z");
}
