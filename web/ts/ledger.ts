// The audit page: verifying without leaving it.

import { one } from "./dom";
import { say, text } from "./texts";

type Decorate = (root: ParentNode) => void;

/** Line is one line of the answer to a check: how far it is, and at the end the seal. */
interface Line {
  read: number;
  of: number;
  seal?: string;
}

/** ledger makes the page's seal work, and checks the log where nobody has yet. */
export function ledger(decorate: Decorate): void {
  const seal = one("#seal");
  if (!seal) return;
  let running: Check | null = null;
  const start = (): void => {
    running = new Check(decorate);
    void running.run().finally(() => (running = null));
  };
  document.addEventListener("submit", (e) => {
    if (!(e.target instanceof HTMLFormElement) || e.target.id !== "verify") return;
    e.preventDefault();
    if (running) running.cancel();
    else start();
  });
  if (seal.dataset["state"] === "open") start();
}

/** Check is one verification, from the click to its seal. */
class Check {
  private readonly abort = new AbortController();
  private readonly before = one("#seal")?.cloneNode(true);

  constructor(private readonly decorate: Decorate) {}

  cancel(): void {
    this.abort.abort();
  }

  async run(): Promise<void> {
    const button = one<HTMLButtonElement>("#verify button");
    const title = one("#seal-title");
    const progress = one<HTMLProgressElement>("#seal progress");
    if (!button || !title || !progress) return;
    one("#seal")?.setAttribute("data-state", "checking");
    title.textContent = text("checking");
    button.textContent = text("cancel");
    progress.hidden = false;
    one("#seal .detail")?.setAttribute("hidden", "");
    try {
      for await (const line of lines(this.abort.signal)) {
        if (line.seal !== undefined) {
          this.put(line.seal);
          return;
        }
        progress.max = Math.max(1, line.of);
        progress.value = line.read;
        title.textContent = text("checking_n", { n: line.read.toLocaleString(), of: line.of.toLocaleString() });
      }
      throw new Error(text("cut_off"));
    } catch (err) {
      this.restore();
      if (this.abort.signal.aborted) {
        say(text("check_cancelled"));
        return;
      }
      const again = one("#seal-title");
      if (again) again.textContent = text("check_failed", { message: err instanceof Error ? err.message : String(err) });
    }
  }

  /** put shows the seal that the check came to. */
  private put(html: string): void {
    const template = document.createElement("template");
    template.innerHTML = html; // of our own server
    this.replace(template.content.firstElementChild);
    say(one("#seal-title")?.textContent ?? "");
  }

  private restore(): void {
    if (this.before instanceof Element) this.replace(this.before);
  }

  private replace(fresh: Element | null): void {
    if (!fresh) return;
    const focused = document.activeElement?.closest("#verify") !== null && document.activeElement !== document.body;
    this.decorate(fresh);
    one("#seal")?.replaceWith(fresh);
    if (focused) one<HTMLButtonElement>("#verify button")?.focus();
  }
}

/** lines yields what the server says while it checks. Without anybody to read, it stops. */
async function* lines(signal: AbortSignal): AsyncGenerator<Line> {
  const answer = await fetch("/audit/verify", { method: "POST", headers: { Accept: "application/x-ndjson" }, signal });
  if (!answer.ok || !answer.body) throw new Error(answer.statusText);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) yield JSON.parse(part) as Line;
  }
}
