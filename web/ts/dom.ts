// Small ways to reach and replace parts of the page.

/** one returns the first element that matches, of the given kind. */
export function one<T extends Element = HTMLElement>(selector: string, root: ParentNode = document): T | null {
  return root.querySelector<T>(selector);
}

/** all returns every element that matches. */
export function all<T extends Element = HTMLElement>(selector: string, root: ParentNode = document): T[] {
  return [...root.querySelectorAll<T>(selector)];
}

/** Refused is an answer of the server that is not what was asked for. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** post sends JSON to the interface and returns what it answers. */
export async function post(path: string, body?: unknown): Promise<unknown> {
  const init: RequestInit = { method: "POST", headers: { Accept: "application/json" } };
  if (body !== undefined) {
    init.headers = { Accept: "application/json", "Content-Type": "application/json" };
    init.body = JSON.stringify(body);
  }
  const answer = await fetch(path, init);
  if (!answer.ok) throw new Refused(answer.status, await reason(answer));
  return answer.status === 204 || answer.headers.get("Content-Length") === "0" ? null : answer.json().catch(() => null);
}

async function reason(answer: Response): Promise<string> {
  try {
    const body = (await answer.json()) as { error?: { message?: string } };
    return body.error?.message ?? answer.statusText;
  } catch {
    return answer.statusText;
  }
}

/** piece fetches a piece of a page, which our own server has rendered. */
export async function piece(path: string, init: RequestInit = {}): Promise<HTMLElement> {
  const answer = await fetch(path, { ...init, headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Refused(answer.status, answer.statusText);
  const template = document.createElement("template");
  template.innerHTML = await answer.text();
  const element = template.content.firstElementChild;
  if (!(element instanceof HTMLElement)) throw new Refused(answer.status, "an empty piece");
  return element;
}
