// One operation of the API in words: who may call it, what it takes, what it answers, and a command to try it.
// deno-lint-ignore-file jsx-key -- pages are rendered once, as text: keys would only become attributes
import { Badge } from "../components/badge.tsx";
import { CodeBlock } from "../components/code.tsx";

/** A field or a parameter. */
export interface DocsField {
  /** Such as `user.id` or `memberships[].role`. */
  readonly name: string;
  /** Such as “string, 1 to 100 characters”. */
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string | null;
  /** Where a parameter is; null for a field. */
  readonly place: "path" | "query" | "header" | null;
}

/** A body in one type of content. */
export interface DocsBody {
  readonly type: string;
  readonly fields: readonly DocsField[];
  /** JSON in lines. */
  readonly example: string | null;
}

/** An error by its code. */
export interface DocsError {
  readonly code: string;
  readonly status: number;
}

/** One method of one path. */
export interface DocsOperation {
  /** Its name, and its place on the page. */
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string | null;
  /** Ways to prove who one is, any of which will do; none for everybody. */
  readonly who: readonly string[];
  readonly parameters: readonly DocsField[];
  readonly bodies: readonly DocsBody[];
  readonly isBodyRequired: boolean;
  readonly answers: readonly {
    readonly status: number;
    readonly description: string;
    /** Those of this answer alone. */
    readonly headers: readonly DocsField[];
    readonly body: DocsBody | null;
  }[];
  readonly errors: readonly DocsError[];
  readonly curl: string;
}

/** Operations that belong together. */
export interface DocsGroup {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly operations: readonly DocsOperation[];
}

/** All that the page shows. Texts have code in backticks. */
export interface DocsContent {
  readonly introduction: readonly string[];
  readonly version: string;
  readonly groups: readonly DocsGroup[];
  readonly errors: readonly (DocsError & { readonly when: string })[];
  /** What every error looks like. */
  readonly error: DocsBody;
  readonly ways: readonly { readonly name: string; readonly description: string }[];
}

/** A text with code in backticks. */
export function Prose({ text }: { text: string }) {
  return <>{text.split("`").map((part, index) => index % 2 === 1 ? <code>{part}</code> : part)}</>;
}

/** An operation, as a card that a link can lead to. */
export function Operation({ operation }: { operation: DocsOperation }) {
  const { id, answers, errors } = operation;
  return (
    <article class="card docs-operation" id={id} aria-labelledby={`${id}-title`}>
      <header>
        <h3 id={`${id}-title`}>
          <a href={`#${id}`}>{operation.summary}</a>
        </h3>
        <Badge tone={operation.who.length === 0 ? "off" : "on"}>
          {operation.who.length === 0 ? "Everybody" : operation.who.join(" or ")}
        </Badge>
        <p class="docs-address">
          <strong>{operation.method}</strong> <code>{operation.path}</code>
        </p>
      </header>
      <div class="body">
        {operation.description === null ? null : (
          <p>
            <Prose text={operation.description} />
          </p>
        )}
        {operation.parameters.length === 0 ? null : (
          <Part title="Parameters">
            <Fields fields={operation.parameters} />
          </Part>
        )}
        {operation.bodies.map((body) => (
          <Part title={`Body, ${body.type}${operation.isBodyRequired ? "" : ", may be left out"}`}>
            <Fields fields={body.fields} />
          </Part>
        ))}
        <CodeBlock id={`curl-${id}`} label="In a terminal" code={operation.curl} />
        <Part title="Answers">
          {answers.map(({ status, description, headers, body }) => (
            <div class="docs-answer">
              <p>
                <strong>{status}</strong> <Prose text={description} />
              </p>
              {headers.length === 0 ? null : <Fields fields={headers} />}
              {body === null || body.fields.length === 0
                ? null
                : <Answer body={body} label={`${operation.summary}, ${status}`} />}
            </div>
          ))}
        </Part>
        <Part title="Errors">
          <ul class="docs-errors">
            {errors.map(({ code, status }) => (
              <li>
                <a href={`#error-${code}`}>
                  <code>{code}</code>
                </a>{" "}
                <span class="muted tiny">{status}</span>
              </li>
            ))}
          </ul>
        </Part>
      </div>
    </article>
  );
}

function Part({ title, children }: { title: string; children: unknown }) {
  return (
    <div class="docs-part">
      <h4>{title}</h4>
      {children}
    </div>
  );
}

/** Fields or parameters, a paragraph each. */
export function Fields({ fields }: { fields: readonly DocsField[] }) {
  return (
    <dl class="docs-fields">
      {fields.map((field) => (
        <div>
          <dt>
            <code>{field.name}</code>{" "}
            <span class="muted small">
              {[field.place === null ? null : `in the ${field.place}`, field.type].filter((one) =>
                one !== null
              )
                .join(", ")}
              {field.isRequired ? <strong>, required</strong> : null}
            </span>
          </dt>
          {field.description === null ? null : (
            <dd>
              <Prose text={field.description} />
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}

function Answer({ body, label }: { body: DocsBody; label: string }) {
  return (
    <details class="docs-more">
      <summary>Fields and an example</summary>
      <Fields fields={body.fields.map((field) => ({ ...field, isRequired: false }))} />
      <Example body={body} label={label} />
    </details>
  );
}

/** The example of a body, if it has one. `label` says of what. */
export function Example({ body, label }: { body: DocsBody; label: string }) {
  if (body.example === null) return null;
  return (
    <div class="code">
      <div class="code-scroll" tabindex={0} role="group" aria-label={`Example: ${label}`}>
        <pre>{body.example}</pre>
      </div>
    </div>
  );
}
