// The audit page follows the log: what comes is put on top of the list where the
// reader looks at the top, and is offered where not.

import { all, one, piece } from "./dom";
import { text } from "./texts";

const soon = 150; // milliseconds: what comes together is fetched together
const most = 200; // rows that the server gives at a time
const nearTop = 48; // pixels

/** Tail adds the records that come. */
export class Tail {
  private readonly path: string;
  private readonly scroll = one("#scroll");
  private readonly fresh = one<HTMLButtonElement>("#fresh");
  private readonly button = one<HTMLButtonElement>("#live");
  private last: number;
  private due = 0;
  private asking: Promise<number> | null = null;
  private waiting: Element[] = []; // newest first
  private gap = false; // there are more than could be fetched

  /** of returns the tail of the page, or null where it shows no newest records. */
  static of(decorate: (root: ParentNode) => void): Tail | null {
    const list = one("#rows");
    return list?.dataset["live"] ? new Tail(list, decorate) : null;
  }

  private constructor(
    private readonly list: HTMLElement,
    private readonly decorate: (root: ParentNode) => void,
  ) {
    this.path = list.dataset["live"] ?? "";
    this.last = Number(list.dataset["last"]);
    this.fresh?.addEventListener("click", () => this.show());
    this.button?.addEventListener("click", () => this.toggle());
    if (this.button) this.button.hidden = false;
    this.scroll?.addEventListener("scroll", () => {
      if (this.waiting.length > 0 && this.follows()) this.put();
    });
  }

  /** place is where the page stands in the stream. */
  get place(): number {
    return Number(this.scroll?.dataset["lastEventId"] ?? 0);
  }

  /** event looks for new records, soon: something has happened. */
  event(): void {
    if (this.due) return;
    this.due = window.setTimeout(() => {
      this.due = 0;
      void this.catchUp();
    }, soon);
  }

  /** catchUp fetches what is new and returns where the page stands in the stream then. */
  async catchUp(): Promise<number> {
    if (this.asking) return this.asking.then(() => this.catchUp());
    this.asking = this.ask().finally(() => (this.asking = null));
    return this.asking;
  }

  private async ask(): Promise<number> {
    try {
      const join = this.path.includes("?") ? "&" : "?";
      const got = await piece(`${this.path}${join}after=${this.last}`);
      this.last = Number(got.dataset["last"]);
      this.decorate(got);
      const rows = [...got.children];
      this.gap ||= rows.length >= most;
      this.waiting.unshift(...rows);
      if (this.follows()) this.put();
      this.offer();
      return Number(got.dataset["lastEventId"]);
    } catch {
      return this.place; // the next event tries again
    }
  }

  /** follows reports whether what comes is shown at once. */
  private follows(): boolean {
    return this.button?.getAttribute("aria-pressed") !== "false" && (this.scroll?.scrollTop ?? 0) < nearTop && !this.gap;
  }

  private toggle(): void {
    const on = this.button?.getAttribute("aria-pressed") === "false";
    this.button?.setAttribute("aria-pressed", String(on));
    if (on && this.follows()) this.put();
    this.offer();
  }

  private show(): void {
    if (this.gap) {
      location.reload();
      return;
    }
    this.put();
    this.offer();
    if (this.scroll) this.scroll.scrollTop = 0;
    one<HTMLElement>("summary", this.list)?.focus({ preventScroll: true });
  }

  private put(): void {
    if (this.waiting.length === 0) return;
    one(".lhead", this.list)?.after(...this.waiting);
    this.waiting = [];
    this.list.hidden = false;
    one("#none")?.remove();
    const shown = one("#shown");
    if (shown) shown.textContent = text("shown", { n: all("details[id]", this.list).length });
  }

  private offer(): void {
    if (!this.fresh) return;
    this.fresh.hidden = this.waiting.length === 0;
    if (this.waiting.length > 0) this.fresh.textContent = text(this.gap ? "new_many" : "new_records", { n: this.waiting.length });
  }
}
