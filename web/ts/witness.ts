// The browser as a witness of the audit log: it keeps the last checkpoint that
// it has seen, and has the server prove that the log has only grown since.

import { one } from "./dom";
import { text } from "./texts";
import { type Checkpoint, grew, included, parseCheckpoint } from "./tree";

const prefix = "datamind.checkpoint:";

/** profileOf is the last part of a log's name, which stays where a log is made anew. */
const profileOf = (c: Checkpoint): string => c.origin.slice(c.origin.lastIndexOf("/") + 1);

function kept(profile: string): Checkpoint | null {
  try {
    return JSON.parse(localStorage.getItem(prefix + profile) ?? "null") as Checkpoint | null;
  } catch {
    return null;
  }
}

function keep(c: Checkpoint): void {
  localStorage.setItem(prefix + profileOf(c), JSON.stringify(c));
}

/** saw keeps a checkpoint that came with an event, where none is kept yet. */
export function saw(note: string): void {
  const c = parseCheckpoint(note);
  if (c && !kept(profileOf(c))) keep(c);
}

/** witness compares the log with what this browser has seen of it. */
export async function witness(): Promise<void> {
  const banner = one("#witness");
  if (!banner || !("crypto" in window) || !crypto.subtle) return;
  const head = await checkpoint();
  if (!head) return;
  const old = kept(profileOf(head));
  const fault = old ? await compare(old, head) : "";
  if (fault === null) return; // what is kept stays for the next time
  if (fault === "") {
    keep(head);
    return;
  }
  banner.hidden = false;
  const words = document.createElement("span");
  words.className = "grow";
  words.textContent = text(fault, { was: old?.size ?? 0, is: head.size });
  const accept = document.createElement("button");
  accept.type = "button";
  accept.className = "btn sm";
  accept.textContent = text("witness_accept");
  accept.addEventListener("click", () => {
    keep(head);
    banner.hidden = true;
  });
  banner.replaceChildren(words, accept);
}

async function checkpoint(): Promise<Checkpoint | null> {
  try {
    const answer = await fetch("/api/audit/checkpoint");
    return answer.ok ? parseCheckpoint(await answer.text()) : null;
  } catch {
    return null; // not reached: the banner of the connection says so
  }
}

/** compare returns what is wrong, "" for nothing, or null where the server was not reached. */
async function compare(old: Checkpoint, head: Checkpoint): Promise<string | null> {
  if (old.origin !== head.origin) return "witness_other";
  if (old.size > head.size) return "witness_shorter";
  const answer = await fetch(`/api/audit/consistency?from=${old.size}&to=${head.size}`).catch(() => null);
  if (!answer) return null;
  try {
    const proof = answer.ok ? ((await answer.json()) as { hashes: string[] }).hashes : [];
    return (await grew(old, head, proof)) ? "" : "witness_forked";
  } catch {
    return "witness_forked"; // no proof is as good as a wrong one
  }
}

/** proof checks that the record of the page is in the log as it is signed now. */
export async function proof(): Promise<void> {
  const place = one("#proof");
  if (!place || !("crypto" in window) || !crypto.subtle) return;
  const seq = Number(place.dataset["seq"]);
  const [line, file] = await Promise.all([body(`/api/audit/${seq}`), body(`/api/audit/${seq}/proof`)]);
  if (line === null || file === null) return;
  const [head, note] = cut(file);
  const signed = parseCheckpoint(note);
  const hashes = head.filter((l) => /^[A-Za-z0-9+/]{43}=$/.test(l));
  const ok = signed !== null && (await included(line.replace(/\n$/, ""), seq, hashes, signed));
  place.dataset["state"] = ok ? "included" : "broken";
  place.textContent = text(ok ? "proof_ok" : "proof_bad", { size: (signed?.size ?? 0).toLocaleString() });
}

async function body(path: string): Promise<string | null> {
  const answer = await fetch(path).catch(() => null);
  return answer?.ok ? answer.text() : null;
}

/** cut parts a proof from the note behind its empty line. */
function cut(file: string): [string[], string] {
  const at = file.indexOf("\n\n");
  return [file.slice(0, at).split("\n"), file.slice(at + 2)];
}
