// The message that waits for the running turn to end, above the message box.

import { one, piece, Refused } from "./dom";

const missing = 404;

/** Queue shows the message that waits, and takes it back. */
export class Queue {
  constructor(
    private readonly session: string,
    private readonly put: (change: () => void) => void,
    private readonly back: (words: string) => void, // is given the words that were withdrawn
    private readonly problem: (err: unknown) => void,
  ) {
    document.addEventListener("submit", (e) => {
      if (!(e.target instanceof HTMLFormElement) || e.target.dataset["queued"] === undefined) return;
      e.preventDefault();
      void this.withdraw(e.target);
    });
  }

  /** refresh shows what waits by now. */
  async refresh(): Promise<void> {
    try {
      const fresh = await piece(`/sessions/${this.session}/queue`);
      this.put(() => one("#queue")?.replaceWith(fresh));
    } catch {
      // The next event shows it.
    }
  }

  private async withdraw(form: HTMLFormElement): Promise<void> {
    const words = one("#queued-text", form)?.textContent ?? "";
    const button = one<HTMLButtonElement>("button", form);
    if (!button || button.disabled) return;
    button.disabled = true;
    try {
      const answer = await fetch(`/api/sessions/${this.session}/queue`, { method: "DELETE" });
      if (answer.ok) this.back(words);
      else if (answer.status !== missing) throw new Refused(answer.status, answer.statusText);
    } catch (err) {
      button.disabled = false;
      this.problem(err);
      return;
    }
    await this.refresh();
  }
}
