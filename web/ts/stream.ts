// The events of the server, over one connection for all tabs of the browser.
//
// A browser opens six connections to a server at most, and a stream holds one
// for as long as it lives. So the tabs choose one among them, by a lock, which
// listens and passes on what it hears. When it closes, the next one takes over
// from where it has got to itself.

/** Data is what every event holds. */
export interface Data {
  session_id?: string;
  turn_id?: string;
  approval_id?: string;
  text?: string;
  decision?: string;
  status?: string;
  audit_seq?: number | null;
  code?: string;
}

/** Listener is told what comes. */
export interface Listener {
  event(name: string, id: number, data: Data): void;
  /** reset says that something was missed for good: load everything again. */
  reset(): void;
  /** lost says in how many seconds it is tried again; null: all is well. */
  lost(seconds: number | null): void;
}

const names = [
  "turn.started", "turn.delta", "turn.tool_call", "hook_asks_user", "hook_denied", "turn.tool_result",
  "approval.decided", "approval.extended", "turn.completed", "turn.failed",
];

type Message =
  | { kind: "event"; name: string; id: number; data: Data }
  | { kind: "reset" }
  | { kind: "lost"; seconds: number | null }
  | { kind: "hello" }
  | { kind: "here"; at: number | null };

const longestWait = 15;

/** Stream listens until the page is gone. */
export class Stream {
  private source: EventSource | null = null;
  private leads = false;
  private failures = 0;
  private retry = 0;
  private channel: BroadcastChannel | null = null;
  private early: Message[] | null = null; // what came while this tab caught up

  /**
   * after is the last event that the page knows; 0 is before the first. A page
   * for which it is null never leads: it has no place in the stream to go on from.
   */
  constructor(
    private after: number | null,
    private readonly listener: Listener,
  ) {}

  start(): void {
    const shared = "locks" in navigator && "BroadcastChannel" in window;
    if (shared) {
      this.channel = new BroadcastChannel("datamind");
      this.channel.onmessage = (m: MessageEvent<Message>) => this.hear(m.data);
    }
    if (this.after === null) return;
    if (!shared) {
      this.lead();
      return;
    }
    void navigator.locks.request("datamind-stream", () => {
      this.lead();
      return new Promise<never>(() => undefined); // held until the tab closes
    });
    setTimeout(() => {
      if (!this.leads) this.channel?.postMessage({ kind: "hello" } satisfies Message);
    }, 0);
  }

  /** again tries at once instead of waiting. */
  again(): void {
    clearTimeout(this.retry);
    this.open();
  }

  private lead(): void {
    this.leads = true;
    this.open();
  }

  private open(): void {
    this.source?.close();
    const source = new EventSource(`/api/stream?after=${this.after ?? 0}`);
    this.source = source;
    source.onopen = () => {
      this.failures = 0;
      this.pass({ kind: "lost", seconds: null });
    };
    source.onerror = () => this.failed();
    for (const name of names) {
      source.addEventListener(name, (e: MessageEvent<string>) => {
        this.pass({ kind: "event", name, id: Number(e.lastEventId), data: JSON.parse(e.data) as Data });
      });
    }
    source.addEventListener("stream.reset", () => this.pass({ kind: "reset" }));
  }

  private failed(): void {
    this.source?.close();
    clearTimeout(this.retry);
    const seconds = Math.min(longestWait, 2 ** this.failures++);
    this.pass({ kind: "lost", seconds });
    this.retry = window.setTimeout(() => this.open(), seconds * 1000);
  }

  /** pass takes a message and gives it to the other tabs. */
  private pass(m: Message): void {
    this.take(m);
    this.channel?.postMessage(m);
  }

  /** hear takes what another tab says. */
  private hear(m: Message): void {
    if (m.kind === "hello") {
      if (this.leads) this.channel?.postMessage({ kind: "here", at: this.after } satisfies Message);
    } else if (m.kind === "here") {
      if (!this.leads && this.after !== null && m.at !== this.after && !this.early) void this.catchUp();
    } else if (!this.leads) {
      if (this.early) this.early.push(m);
      else this.take(m);
    }
  }

  private take(m: Message): void {
    if (m.kind === "event") {
      if (this.after !== null) {
        if (m.id <= this.after) return;
        this.after = m.id;
      }
      this.listener.event(m.name, m.id, m.data);
    } else if (m.kind === "reset") {
      this.listener.reset();
    } else if (m.kind === "lost") {
      this.listener.lost(m.seconds);
    }
  }

  /** catchUp fetches what happened between the page's making and its listening. */
  private async catchUp(): Promise<void> {
    this.early = [];
    try {
      const answer = await fetch(`/api/events?after=${this.after}`, { signal: AbortSignal.timeout(2000) });
      const body = (await answer.json()) as { events: { id: string | number; event: string; data: Data }[] };
      for (const e of body.events) {
        if (e.event === "stream.reset") this.take({ kind: "reset" });
        else this.take({ kind: "event", name: e.event, id: Number(e.id), data: e.data });
      }
    } catch {
      // Nothing had happened: the answer would have come only with the next event.
    }
    const early = this.early;
    this.early = null;
    for (const m of early) this.take(m);
  }

  /** startAfter sets where the page stands, after it was loaded again. */
  startAfter(id: number): void {
    this.after = Math.max(this.after ?? 0, id);
  }
}
