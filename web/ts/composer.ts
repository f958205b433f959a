// The message box: Enter sends, Shift+Enter breaks the line, an input method's
// Enter does neither; drafts are kept; Esc stops the run.

import { one, post, Refused } from "./dom";
import { say, text } from "./texts";

const tooLarge = 413;
const conflict = 409;

/** Composer is the message box of a page. */
export class Composer {
  private composing = false;
  private last = "";
  readonly session: string;

  constructor(
    private readonly form: HTMLFormElement,
    readonly box: HTMLTextAreaElement,
    private readonly sent: () => void,
  ) {
    this.session = form.dataset["session"] ?? "";
    form.noValidate = true; // Enter in an empty box does nothing, without a browser's bubble
    if (!box.value) box.value = localStorage.getItem(this.key) ?? "";
    this.grow();
    box.addEventListener("compositionstart", () => (this.composing = true));
    // Safari sends the Enter that ends a composition after its end.
    box.addEventListener("compositionend", () => setTimeout(() => (this.composing = false), 0));
    box.addEventListener("keydown", (e) => this.pressed(e));
    box.addEventListener("input", () => this.input());
    form.addEventListener("submit", (e) => this.submit(e));
    one("#stop-button")?.addEventListener("click", (e) => {
      e.preventDefault();
      void this.stop();
    });
    document.addEventListener("keydown", (e) => this.escape(e));
  }

  /** busy reports whether the person is in the middle of writing. */
  get busy(): boolean {
    return this.composing || this.box.value.trim() !== "";
  }

  get running(): boolean {
    return this.form.hasAttribute("data-running");
  }

  set running(on: boolean) {
    this.form.toggleAttribute("data-running", on);
  }

  /** invite sets what an empty box says. */
  invite(kind: "" | "waiting" | "declined"): void {
    const name = kind === "" ? "placeholder" : kind === "waiting" ? "placeholderWaiting" : "placeholderDeclined";
    this.box.placeholder = this.box.dataset[name] ?? this.box.placeholder;
  }

  /** fill puts words into an empty box, for the person to send. */
  fill(words: string): void {
    this.box.value = words;
    this.input();
    this.box.focus();
  }

  /** send sends words at once, without touching the draft. */
  async send(words: string): Promise<boolean> {
    this.problem("");
    try {
      await post(`/api/sessions/${this.session}/turns`, { text: words });
      this.last = words;
      this.running = true;
      this.sent();
      return true;
    } catch (err) {
      this.problem(this.why(err));
      return false;
    }
  }

  private get key(): string {
    return `draft:${this.session}`;
  }

  private pressed(e: KeyboardEvent): void {
    const imeKey = 229; // what browsers send for keys that an input method takes
    if (e.key === "Enter" && !e.shiftKey && !e.ctrlKey && !e.metaKey && !e.altKey) {
      if (e.isComposing || this.composing || e.keyCode === imeKey) return;
      e.preventDefault();
      this.form.requestSubmit();
    } else if (e.key === "ArrowUp" && this.box.value === "" && !e.isComposing) {
      const recalled = this.last || this.lastSaid();
      if (!recalled) return;
      e.preventDefault();
      this.box.value = recalled;
      this.input();
    }
  }

  private lastSaid(): string {
    const said = document.querySelectorAll(".msg-user");
    return said[said.length - 1]?.textContent ?? "";
  }

  private escape(e: KeyboardEvent): void {
    if (e.key !== "Escape" || e.isComposing || this.composing || !this.running) return;
    if (one("dialog[open]") || one(".side.open")) return;
    void this.stop();
  }

  private input(): void {
    this.grow();
    this.problem("");
    if (this.box.value) localStorage.setItem(this.key, this.box.value);
    else localStorage.removeItem(this.key);
  }

  private grow(): void {
    const most = 8;
    this.box.rows = Math.min(most, this.box.value.split("\n").length);
  }

  private submit(e: SubmitEvent): void {
    if (this.box.value.trim() === "") {
      e.preventDefault();
      return;
    }
    if (this.session === "") {
      // A new conversation is a page of its own: the form itself goes.
      localStorage.removeItem(this.key);
      if (this.form.dataset["sending"]) e.preventDefault();
      this.form.dataset["sending"] = "true";
      return;
    }
    e.preventDefault();
    void this.submitText();
  }

  private async submitText(): Promise<void> {
    const words = this.box.value;
    if (this.form.dataset["sending"]) return;
    this.form.dataset["sending"] = "true";
    const taken = await this.send(words);
    delete this.form.dataset["sending"];
    // What was typed meanwhile stays.
    if (taken && this.box.value.startsWith(words)) {
      this.box.value = this.box.value.slice(words.length).trimStart();
      this.input();
    }
  }

  private async stop(): Promise<void> {
    say(text("stopped"));
    try {
      await post(`/api/sessions/${this.session}/stop`);
    } catch (err) {
      if (!(err instanceof Refused && err.status === conflict)) this.problem(this.why(err));
    }
  }

  private why(err: unknown): string {
    if (err instanceof Refused && err.status === conflict) return text("busy");
    if (err instanceof Refused && err.status === tooLarge) return text("too_long");
    return text("send_failed", { message: err instanceof Error ? err.message : String(err) });
  }

  private problem(words: string): void {
    const place = one("#problem");
    if (place && place.textContent !== words) place.textContent = words;
  }
}
