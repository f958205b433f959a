// The confirmation dialog. Nothing is decided by accident: the safe button has
// the focus, Enter in the field does nothing, Esc and a click beside the dialog
// mean later, and what was meant for the page behind is ignored.

import { all, one, piece, post, Refused } from "./dom";
import { say, text } from "./texts";
import { left } from "./time";

const guard = 500; // milliseconds in which a fresh dialog takes no Enter and no click
const gone = 409;
const mismatch = 422;

/** Asker opens the dialog and answers. */
export class Asker {
  private shownAt = 0;
  private shown = ""; // the approval in the dialog
  private busy = false;
  private warned = 0;
  private opener: HTMLElement | null = null;

  constructor(
    private readonly dialog: HTMLDialogElement,
    private readonly decorate: (root: ParentNode) => void,
    private readonly answered: (decision: string) => void,
  ) {
    for (const kind of ["keydown", "click"] as const) {
      dialog.addEventListener(kind, (e) => this.tooEarly(e), { capture: true });
    }
    dialog.addEventListener("cancel", (e) => {
      e.preventDefault();
      this.later();
    });
    dialog.addEventListener("keydown", (e) => {
      if (e.key === "Enter" && e.target instanceof HTMLInputElement) e.preventDefault();
    });
    dialog.addEventListener("input", () => this.arm());
    dialog.addEventListener("click", (e) => this.click(e));
  }

  get open(): boolean {
    return this.dialog.open;
  }

  /** ask shows a question; opener gets the focus back. */
  async ask(id: string, opener: HTMLElement | null): Promise<void> {
    if (this.dialog.open && this.shown === id) return;
    try {
      await this.load(id);
    } catch {
      location.href = `/approvals/${id}`;
      return;
    }
    this.opener = opener;
    if (!this.dialog.open) this.dialog.showModal();
    this.shownAt = performance.now();
    this.warned = Number.POSITIVE_INFINITY;
    one<HTMLElement>("[autofocus]", this.dialog)?.focus();
  }

  /** decided says that a question was answered, here or elsewhere. */
  async decided(id: string): Promise<void> {
    if (!this.dialog.open || this.shown !== id || this.busy) return;
    await this.load(id);
    one<HTMLElement>("[autofocus]", this.dialog)?.focus();
    say(one('[data-testid="outcome"]', this.dialog)?.textContent?.trim() ?? "", true);
  }

  /** extended says that a question has more time. */
  async extended(id: string): Promise<void> {
    if (this.dialog.open && this.shown === id && !this.busy) await this.reload();
  }

  /** tick warns before the time is up, and shows when it is. */
  tick(): void {
    const until = one("[data-until]", this.dialog);
    if (!this.dialog.open || !until) return;
    const seconds = left(until);
    for (const [limit, key] of [[60, "minute"], [10, "ten"]] as const) {
      if (seconds <= limit && seconds > limit - 5 && this.warned > limit) {
        this.warned = limit;
        say(text(key), true);
      }
    }
    if (seconds === 0 && this.warned > 0) {
      this.warned = 0;
      say(text("expired"), true);
      setTimeout(() => void this.decided(this.shown), 1500);
    }
  }

  private async load(id: string): Promise<void> {
    const inside = await piece(`/approvals/${id}?part=dialog`);
    this.decorate(inside);
    this.dialog.replaceChildren(inside);
    this.shown = id;
    this.arm();
  }

  /** reload shows the question as it is now and keeps what was typed. */
  private async reload(): Promise<void> {
    const typed = one<HTMLInputElement>("#ask-typed", this.dialog)?.value ?? "";
    const focused = document.activeElement?.id;
    await this.load(this.shown);
    const field = one<HTMLInputElement>("#ask-typed", this.dialog);
    if (field) field.value = typed;
    this.arm();
    ((focused && document.getElementById(focused)) || one<HTMLElement>("[autofocus]", this.dialog))?.focus();
    this.warned = Number.POSITIVE_INFINITY;
  }

  private tooEarly(e: KeyboardEvent | MouseEvent): void {
    if (performance.now() - this.shownAt >= guard) return;
    if (e instanceof KeyboardEvent && e.key !== "Enter" && e.key !== " ") return;
    e.preventDefault();
    e.stopPropagation();
  }

  private question(): HTMLElement | null {
    return one(".question", this.dialog);
  }

  private arm(): void {
    const [yes, field] = [one<HTMLButtonElement>("#ask-yes", this.dialog), one<HTMLInputElement>("#ask-typed", this.dialog)];
    if (!yes) return;
    const ready = !field || field.value.trim() === this.question()?.dataset["typed"];
    yes.disabled = this.busy || !ready;
    yes.classList.toggle("armed", ready);
  }

  private click(e: MouseEvent): void {
    const target = e.target instanceof Element ? e.target : null;
    if (target === this.dialog || target?.closest("#ask-later")) {
      this.later();
      return;
    }
    if (target?.closest("#ask-more")) {
      e.preventDefault();
      void this.extend();
      return;
    }
    const button = target?.closest<HTMLButtonElement>("[data-decision]");
    if (button && !button.disabled) void this.answer(button);
  }

  private later(): void {
    if (this.busy) return;
    const pending = this.question()?.dataset["state"] === "pending";
    if (pending) {
      sessionStorage.setItem(`later:${this.shown}`, "true");
      say(text("still_waiting"));
    }
    this.close();
  }

  private close(): void {
    this.dialog.close();
    this.shown = "";
    this.dialog.replaceChildren();
    (this.opener?.isConnected ? this.opener : document.getElementById("message"))?.focus();
    this.opener = null;
  }

  private async extend(): Promise<void> {
    try {
      await post(`/api/approvals/${this.shown}/extend`);
      say(text("extended"));
    } catch (err) {
      this.problem(err);
    }
    await this.reload();
  }

  private async answer(button: HTMLButtonElement): Promise<void> {
    const decision = button.dataset["decision"] ?? "";
    const body: Record<string, string> = { decision, digest: this.question()?.dataset["digest"] ?? "" };
    const typed = one<HTMLInputElement>("#ask-typed", this.dialog)?.value;
    if (typed !== undefined && decision === "confirm") body["typed"] = typed.trim();
    this.lock(button, true);
    try {
      await post(`/api/approvals/${this.shown}`, body);
    } catch (err) {
      this.lock(button, false);
      if (err instanceof Refused && err.status === gone) await this.decided(this.shown);
      else this.problem(err);
      return;
    }
    this.busy = false;
    say(text(decision === "confirm" ? "approved" : "declined"));
    this.close();
    this.answered(decision);
  }

  private lock(button: HTMLButtonElement, on: boolean): void {
    this.busy = on;
    for (const b of all<HTMLButtonElement>("button", this.dialog)) b.disabled = on;
    button.setAttribute("aria-busy", String(on));
    if (!on) this.arm();
  }

  private problem(err: unknown): void {
    const place = one("#ask-problem", this.dialog);
    if (!place) return;
    place.textContent =
      err instanceof Refused && err.status === mismatch
        ? err.message
        : text("answer_failed", { message: err instanceof Error ? err.message : String(err) });
  }
}
