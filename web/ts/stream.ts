// The events of the server, over one connection for all tabs of the browser.
//
// A browser opens six connections to a server at most, and a stream holds one
// for as long as it lives. So the tabs choose one among them, by a lock, which
// listens and passes on what it hears. When it closes, the next one takes over
// from where it has got to itself.
//
// Where a stream can't be opened three times in a row, as behind a proxy that holds
// answers back, the tab asks for events by long poll, and goes back to the stream
// when that opens again.

/** Data is what every event holds. */
export interface Data {
  session_id?: string;
  turn_id?: string;
  approval_id?: string;
  tool?: string;
  text?: string;
  decision?: string;
  status?: string;
  checkpoint?: string | null;
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
  "turn.queued", "turn.withdrawn", "turn.started", "turn.delta", "turn.tool_call", "hook_asks_user", "hook_denied", "turn.tool_result",
  "approval.decided", "approval.extended", "turn.completed", "turn.failed",
];

type Message =
  | { kind: "event"; name: string; id: number; data: Data }
  | { kind: "reset" }
  | { kind: "lost"; seconds: number | null }
  | { kind: "hello" }
  | { kind: "here"; at: number | null };

const longestWait = 15; // seconds between two attempts
const patience = 10_000; // milliseconds for a stream to open
const streamTries = 3;
const probeEvery = 10_000; // milliseconds between two attempts to open a stream while it is polled

/** A StoredEvent is an event of a long poll. */
interface StoredEvent {
  id: string | number;
  event: string;
  data: Data;
}

/** Stream listens until the page is gone. */
export class Stream {
  private source: EventSource | null = null;
  private leads = false;
  private failures = 0;
  private retry = 0;
  private opening = 0; // the timer of a stream that does not open
  private poller: AbortController | null = null; // of the long poll that goes on
  private probed = 0;
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

  /** leading says whether this tab is the one that listens. */
  get leading(): boolean {
    return this.leads;
  }

  /** again tries at once instead of waiting. */
  again(): void {
    if (!this.leads) return;
    clearTimeout(this.retry);
    this.open();
  }

  private lead(): void {
    this.leads = true;
    window.addEventListener("online", () => {
      if (this.failures > 0) this.again();
    });
    this.open();
  }

  private open(): void {
    this.source?.close();
    clearTimeout(this.opening);
    const source = new EventSource(`/api/stream?after=${this.after ?? 0}`);
    this.source = source;
    this.opening = window.setTimeout(() => this.failed(), patience);
    source.onopen = () => {
      clearTimeout(this.opening);
      this.failures = 0;
      this.poller?.abort();
      this.poller = null;
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
    clearTimeout(this.opening);
    clearTimeout(this.retry);
    this.failures++;
    if (this.poller) return; // it was a probe
    if (this.failures >= streamTries) {
      void this.poll();
      return;
    }
    const seconds = this.wait();
    this.retry = window.setTimeout(() => this.open(), seconds * 1000);
  }

  /** wait says that the connection is lost and returns for how many seconds to wait. */
  private wait(): number {
    const seconds = Math.min(longestWait, 2 ** (this.failures - 1));
    this.pass({ kind: "lost", seconds });
    return seconds;
  }

  /** poll asks for events until a stream opens or the server does not answer either. */
  private async poll(): Promise<void> {
    const poller = new AbortController();
    const within = (ms: number): AbortSignal => AbortSignal.any([poller.signal, AbortSignal.timeout(ms)]);
    this.poller = poller;
    try {
      const alive = await fetch("/healthz", { signal: within(patience) });
      if (!alive.ok) throw new Error(alive.statusText);
      this.pass({ kind: "lost", seconds: null });
      this.probed = Date.now();
      while (!poller.signal.aborted) {
        for (const m of await this.fetchEvents(within(4 * patience))) this.pass(m);
        if (Date.now() - this.probed > probeEvery) {
          this.probed = Date.now();
          this.open();
        }
      }
    } catch {
      if (poller.signal.aborted) return; // the stream is open
      this.poller = null;
      const seconds = this.wait();
      this.retry = window.setTimeout(() => this.open(), seconds * 1000);
    }
  }

  /** fetchEvents returns what happened behind the page's place; it may wait for it. */
  private async fetchEvents(signal: AbortSignal): Promise<Message[]> {
    const answer = await fetch(`/api/events?after=${this.after ?? 0}`, { signal });
    if (!answer.ok) throw new Error(answer.statusText);
    const body = (await answer.json()) as { events: StoredEvent[] };
    return body.events.map((e) =>
      e.event === "stream.reset" ? { kind: "reset" } : { kind: "event", name: e.event, id: Number(e.id), data: e.data },
    );
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
      for (const m of await this.fetchEvents(AbortSignal.timeout(2000))) this.take(m);
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
