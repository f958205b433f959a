// The message box: Enter sends, Shift+Enter breaks the line, an input method's
// Enter does neither; drafts are kept; Esc stops the run. What is sent while a turn
// runs waits for its end.

import { one, post, Refused } from "./dom";
import { say, text } from "./texts";

const tooLarge = 413;
const conflict = 409;

/** Composer is the message box of a page. */
export class Composer {
  private composing = false;
  private last = "";
  private entered = false; // the key that sent the message is still down
  private readonly outbox: string[] = []; // sent, and not yet taken by the server
  readonly session: string;

  constructor(
    private readonly form: HTMLFormElement,
    readonly box: HTMLTextAreaElement,
    private readonly sent: () => void,
  ) {
    this.session = form.dataset["session"] ?? "";
    form.noValidate = true; // Enter in an empty box does nothing, without a browser's bubble
    this.begun();
    if (!box.value) box.value = localStorage.getItem(this.key) ?? "";
    this.grow();
    box.addEventListener("compositionstart", () => (this.composing = true));
    // Safari sends the Enter that ends a composition after its end.
    box.addEventListener("compositionend", () => setTimeout(() => (this.composing = false), 0));
    box.addEventListener("keydown", (e) => this.pressed(e));
    box.addEventListener("keyup", () => (this.entered = false));
    // The Enter that sends may still bring its line break, into a box that is empty by then.
    box.addEventListener("beforeinput", (e) => {
      if (this.entered && (e.inputType === "insertLineBreak" || e.data === "\n")) e.preventDefault();
    });
    box.addEventListener("input", () => this.input());
    form.addEventListener("submit", (e) => this.submit(e));
    one("#stop-button")?.addEventListener("click", (e) => {
      e.preventDefault();
      void this.stop();
    });
    document.addEventListener("keydown", (e) => this.escape(e));
    // A page that the browser kept and shows again has not sent its form.
    window.addEventListener("pageshow", () => delete form.dataset["sending"]);
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

  /** restore puts words that were taken back before what the box holds. */
  restore(words: string): void {
    this.box.value = [words, this.box.value].filter((w) => w !== "").join("\n");
    this.input();
    this.box.focus();
  }

  /** failed says why something could not be done. */
  failed(err: unknown): void {
    this.problem(this.why(err));
  }

  /** send sends words at once, without touching the draft. */
  async send(words: string): Promise<boolean> {
    this.problem("");
    try {
      const answer = await post(`/api/sessions/${this.session}/turns`, { text: words });
      this.last = words;
      if (isQueued(answer)) say(text("queued"));
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
      this.entered = true;
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
    this.keep();
  }

  /** keep stores what the server has not got yet. */
  private keep(): void {
    const draft = [...this.outbox, this.box.value].filter((words) => words !== "").join("\n");
    if (draft) localStorage.setItem(this.key, draft);
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
      // A new conversation is a page of its own: the form itself goes. Its draft is
      // kept until that page has come; see begun.
      if (this.form.dataset["sending"]) e.preventDefault();
      this.form.dataset["sending"] = "true";
      sessionStorage.setItem("begun", "true");
      return;
    }
    e.preventDefault();
    void this.submitText();
  }

  /**
   * submitText empties the box at once, so that whatever is typed and sent while
   * the server has not answered yet is a message of its own. What the server does
   * not take goes back into the box, before what was typed since.
   */
  private async submitText(): Promise<void> {
    this.outbox.push(this.box.value);
    this.box.value = "";
    this.input();
    if (this.outbox.length > 1) return; // the loop that runs sends this one, too
    for (let next = this.outbox[0]; next !== undefined; next = this.outbox[0]) {
      if (await this.send(next)) {
        this.outbox.shift();
        this.keep();
        continue;
      }
      this.box.value = [...this.outbox.splice(0), this.box.value].filter((words) => words !== "").join("\n");
      this.grow();
      this.keep();
    }
  }

  /** begun forgets the draft of a new conversation whose page this is. */
  private begun(): void {
    if (this.session && sessionStorage.getItem("begun")) localStorage.removeItem("draft:");
    sessionStorage.removeItem("begun");
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

function isQueued(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "queued" in answer && answer.queued === true;
}
