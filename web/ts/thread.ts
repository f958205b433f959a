// The transcript while a turn runs. The server renders turns; this puts them in
// place, adds the text that comes between, and keeps what the reader has opened.

import { all, one, piece } from "./dom";
import type { Data } from "./stream";
import { say, text } from "./texts";

interface Delta {
  id: number;
  text: string;
}

const near = 48; // pixels from the end within which the page follows it
const breath = 3000; // milliseconds between two announcements

/** Thread is the transcript of one session. */
export class Thread {
  private readonly rendered = new WeakMap<Element, string>(); // pieces as the server sent them
  private readonly deltas = new Map<string, Delta[]>(); // text that the server's pieces may lack
  private readonly fetching = new Map<string, boolean>(); // by turn: has to be fetched once more
  private spoken = "";
  private speaking = 0;

  constructor(
    readonly session: string,
    private readonly scroll: HTMLElement,
    private readonly jump: HTMLElement,
    private readonly decorate: (root: ParentNode) => void,
  ) {
    for (const turn of all(".exchange", scroll)) this.remember(turn);
    scroll.addEventListener("scroll", () => (this.jump.hidden = this.atEnd()), { passive: true });
    jump.addEventListener("click", () => this.toEnd());
    scroll.addEventListener("click", (e) => {
      const summary = e.target instanceof Element ? e.target.closest("summary") : null;
      if (summary?.parentElement) summary.parentElement.dataset["touched"] = "true";
    });
  }

  get lastEventID(): number {
    return Number(one("#thread", this.scroll)?.dataset["lastEventId"] ?? 0);
  }

  atEnd(): boolean {
    return this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight < near;
  }

  toEnd(): void {
    this.scroll.scrollTop = this.scroll.scrollHeight;
    this.jump.hidden = true;
  }

  /** event takes in what happened in this session. */
  async event(name: string, id: number, data: Data): Promise<void> {
    const turn = data.turn_id;
    if (!turn) return;
    if (name !== "turn.delta") {
      await this.refresh(turn);
      return;
    }
    const waiting = this.deltas.get(turn) ?? [];
    waiting.push({ id, text: data.text ?? "" });
    this.deltas.set(turn, waiting);
    const exchange = document.getElementById(`turn-${turn}`);
    if (!exchange) {
      await this.refresh(turn);
    } else if (id > Number(exchange.dataset["upto"])) {
      this.follow(() => this.append(exchange, data.text ?? ""));
      this.speak(data.text ?? "");
    }
  }

  /** reload fetches the whole transcript and returns where the stream goes on. */
  async reload(): Promise<number> {
    const fresh = await piece(`/sessions/${this.session}/transcript`);
    this.deltas.clear();
    for (const turn of all(".exchange", fresh)) this.remember(turn);
    this.decorate(fresh);
    this.follow(() => one("#thread", this.scroll)?.replaceWith(fresh));
    return this.lastEventID;
  }

  /** refresh fetches a turn again. While that runs, one more is kept waiting. */
  private async refresh(turn: string): Promise<void> {
    if (this.fetching.has(turn)) {
      this.fetching.set(turn, true);
      return;
    }
    this.fetching.set(turn, false);
    try {
      this.put(await piece(`/sessions/${this.session}/turns/${turn}`));
    } catch {
      // The next event fetches it again; if there is none, a reload shows it.
    }
    const again = this.fetching.get(turn);
    this.fetching.delete(turn);
    if (again) await this.refresh(turn);
  }

  /** put places a turn as the server has it, and the text that it lacks. */
  private put(fresh: HTMLElement): void {
    const old = document.getElementById(fresh.id);
    const turn = fresh.dataset["turn"] ?? "";
    const upto = Number(fresh.dataset["upto"]);
    if (old && Number(old.dataset["upto"]) > upto) return;
    const later = (this.deltas.get(turn) ?? []).filter((d) => d.id > upto);
    this.deltas.set(turn, later);
    this.follow(() => {
      if (old) {
        this.merge(old, fresh);
        for (const d of later) this.append(old, d.text);
        return;
      }
      this.remember(fresh);
      this.decorate(fresh);
      one("#thread", this.scroll)?.append(fresh);
      for (const d of later) this.append(fresh, d.text);
    });
  }

  /** merge replaces those pieces of a turn that the server has changed. */
  private merge(old: HTMLElement, fresh: HTMLElement): void {
    for (const name of ["upto", "state"]) old.dataset[name] = fresh.dataset[name];
    const to = one(".turn", old);
    const from = one(".turn", fresh);
    if (!to || !from) return;
    const focused = document.activeElement;
    const pieces = [...from.children];
    const present = [...to.children];
    pieces.forEach((p, i) => {
      const html = p.outerHTML;
      const was = present[i];
      if (was && this.rendered.get(was) === html) return;
      this.rendered.set(p, html);
      this.decorate(p);
      if (!was) {
        to.append(p);
        return;
      }
      this.keepOpen(was, p);
      was.replaceWith(p);
    });
    for (const was of present.slice(pieces.length)) was.remove();
    if (focused instanceof HTMLElement && focused !== document.body && !focused.isConnected) this.refocus(old, focused);
  }

  private keepOpen(was: Element, now: Element): void {
    const [before, after] = [one<HTMLDetailsElement>("details.tool", was), one<HTMLDetailsElement>("details.tool", now)];
    if (before && after && before.dataset["touched"] && before.dataset["call"] === after.dataset["call"]) {
      after.open = before.open;
      after.dataset["touched"] = "true";
    }
  }

  private refocus(turn: HTMLElement, lost: HTMLElement): void {
    const call = lost.closest<HTMLElement>("[data-call]")?.dataset["call"];
    const card = call ? one(`[data-call="${CSS.escape(call)}"] > summary`, turn) : null;
    (card ?? document.getElementById("message"))?.focus({ preventScroll: true });
  }

  /** append adds text at the end of a turn, as text. */
  private append(turn: HTMLElement, words: string): void {
    let growing = one("[data-growing]", turn);
    if (!growing) {
      const said = document.createElement("div");
      said.setAttribute("aria-busy", "true");
      const node = document.createElement("span");
      node.className = "node dot";
      growing = document.createElement("div");
      growing.className = "prose raw caret";
      growing.dir = "auto";
      growing.dataset["growing"] = "";
      said.append(node, growing);
      one(".turn", turn)?.append(said);
    }
    growing.append(document.createTextNode(words));
  }

  private remember(turn: Element): void {
    for (const p of all(".turn > *", turn)) this.rendered.set(p, p.outerHTML);
  }

  /** follow makes a change and stays at the end if the reader was there. */
  follow(change: () => void): void {
    const end = this.atEnd();
    change();
    if (end) this.toEnd();
    else this.jump.hidden = this.atEnd();
  }

  /** speak announces what is said in whole sentences, with pauses. */
  private speak(words: string): void {
    this.spoken += words;
    if (this.speaking) return;
    this.speaking = window.setTimeout(() => {
      this.speaking = 0;
      const end = Math.max(...[". ", "? ", "! ", "。", "？", "！", "\n"].map((mark) => this.spoken.lastIndexOf(mark)));
      if (end < 0) return;
      say(this.spoken.slice(0, end + 1));
      this.spoken = this.spoken.slice(end + 1);
    }, breath);
  }

  /** finished announces how a turn ended. */
  finished(name: string, turn: string): void {
    clearTimeout(this.speaking);
    this.speaking = 0;
    this.spoken = "";
    const element = document.getElementById(`turn-${turn}`);
    if (name === "turn.failed") say(text("failed"));
    else say(text(element && one(".tblwrap", element) ? "complete_tables" : "complete"));
  }
}
