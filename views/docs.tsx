// The API reference: authentication, every operation by group, and every error. It needs no scripts.
import type { Child } from "hono/jsx";
import { Badge } from "./components/badge.tsx";
import { Card } from "./components/card.tsx";
import { CodeBlock } from "./components/code.tsx";
import { Brand } from "./components/icon.tsx";
import { type Assets, IndexedPage, type Page } from "./layout.tsx";

/** The badge of operations without authentication. */
export const publicBadge = "Public";

/** A field, a parameter or a header. */
export interface DocsField {
  /** Such as `user.id` or `memberships[].role`. */
  readonly name: string;
  /** Such as “string, 1 to 100 characters”. */
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string | null;
}

/** A body in one content type. */
export interface DocsBody {
  readonly type: string;
  readonly fields: readonly DocsField[];
  /** Indented JSON. */
  readonly example: string | null;
}

/** A method of a path. */
export interface DocsOperation {
  /** Also the fragment of its address on the page. */
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string | null;
  /** The security schemes, any of which is enough; none for public operations. */
  readonly schemes: readonly string[];
  readonly parameters: readonly DocsField[];
  readonly bodies: readonly DocsBody[];
  readonly isBodyRequired: boolean;
  readonly responses: readonly {
    readonly status: number;
    readonly description: string;
    readonly headers: readonly DocsField[];
    readonly body: DocsBody | null;
  }[];
  readonly errors: readonly { readonly code: string; readonly status: number }[];
  readonly curl: string;
}

/** A group of operations. */
export interface DocsGroup {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly operations: readonly DocsOperation[];
}

/** The content of the page. Texts have code in backticks. */
export interface DocsContent {
  readonly introduction: readonly string[];
  readonly version: string;
  readonly groups: readonly DocsGroup[];
  readonly errors: readonly { readonly code: string; readonly status: number; readonly meaning: string }[];
  /** The body of every error. */
  readonly error: DocsBody;
  readonly schemes: readonly { readonly name: string; readonly description: string }[];
}

/** @returns The page. */
export function docsPage({ assets, content }: { assets: Assets; content: DocsContent }): Page {
  return (
    <IndexedPage title="API reference" assets={assets} index={<Index groups={content.groups} />}>
      <div class="head">
        <h1>API reference</h1>
        {content.introduction.map((text) => <Paragraph text={text} />)}
        <p>
          Version {content.version}. To generate a client, use the OpenAPI 3.1 document at{" "}
          <a href="/api/openapi.json">/api/openapi.json</a>.
        </p>
      </div>
      <Section id="authentication" title="Authentication">
        <Card title="Security schemes">
          <dl class="docs-fields">
            {content.schemes.map(({ name, description }) => <Definition term={name} text={description} />)}
          </dl>
        </Card>
      </Section>
      {content.groups.map(({ id, name, description, operations }) => (
        <Section id={id} title={name} description={description}>
          {operations.map((operation) => <Operation operation={operation} />)}
        </Section>
      ))}
      <Section id="errors" title="Errors">
        <Card title="Error format">
          <Fields fields={content.error.fields} />
          <Example body={content.error} label="an error" />
        </Card>
        <Card title="Error codes">
          <dl class="docs-fields">
            {content.errors.map(({ code, status, meaning }) => (
              <Definition id={`error-${code}`} term={<code>{code}</code>} note={status} text={meaning} />
            ))}
          </dl>
        </Card>
      </Section>
    </IndexedPage>
  );
}

function Index({ groups }: { groups: readonly DocsGroup[] }) {
  return (
    <header class="side docs-side">
      <div class="top">
        <Brand href="/portal" />
      </div>
      <nav aria-label="Contents">
        <a href="#authentication">Authentication</a>
        {groups.map((group) => (
          <>
            <a href={`#${group.id}`}>{group.name}</a>
            <ul>
              {group.operations.map(({ id, summary }) => (
                <li>
                  <a href={`#${id}`}>{summary}</a>
                </li>
              ))}
            </ul>
          </>
        ))}
        <a href="#errors">Errors</a>
      </nav>
    </header>
  );
}

function Section(
  { id, title, description, children }: { id: string; title: string; description?: string; children: Child },
) {
  return (
    <section class="docs-group" id={id} aria-labelledby={`${id}-title`}>
      <div class="head">
        <h2 id={`${id}-title`}>{title}</h2>
        {description === undefined ? null : <Paragraph text={description} isMuted />}
      </div>
      {children}
    </section>
  );
}

/** Text with code in backticks. */
function Prose({ text }: { text: string }) {
  return <>{text.split("`").map((part, index) => index % 2 === 1 ? <code>{part}</code> : part)}</>;
}

function Paragraph({ text, isMuted = false }: { text: string; isMuted?: boolean }) {
  return (
    <p class={isMuted ? "muted" : undefined}>
      <Prose text={text} />
    </p>
  );
}

function Operation({ operation }: { operation: DocsOperation }) {
  const { id, method, path, summary, description, schemes, parameters, bodies, isBodyRequired } = operation;
  return (
    <article class="card docs-operation" id={id} aria-labelledby={`${id}-title`}>
      <header>
        <h3 id={`${id}-title`}>
          <a href={`#${id}`}>{summary}</a>
        </h3>
        <Badge tone={schemes.length === 0 ? "off" : "on"}>{schemes.join(" or ") || publicBadge}</Badge>
        <p class="docs-address">
          <strong>{method}</strong> <code>{path}</code>
        </p>
      </header>
      <div class="body">
        {description === null ? null : description.split("\n\n").map((text) => <Paragraph text={text} />)}
        {parameters.length === 0 ? null : (
          <Part title="Parameters">
            <Fields fields={parameters} />
          </Part>
        )}
        {bodies.map((body) => (
          <Part title={`Body, ${body.type}${isBodyRequired ? "" : ", optional"}`}>
            <Fields fields={body.fields} />
          </Part>
        ))}
        <CodeBlock id={`curl-${id}`} label="Example" code={operation.curl} />
        <Responses operation={operation} />
      </div>
    </article>
  );
}

function Responses({ operation: { summary, responses, errors } }: { operation: DocsOperation }) {
  return (
    <>
      <Part title="Responses">
        {responses.map(({ status, description, headers, body }) => (
          <div class="docs-response">
            <p>
              <strong>{status}</strong> <Prose text={description} />
            </p>
            {headers.length === 0 ? null : <Fields fields={headers} />}
            {body === null || body.fields.length === 0 ? null : (
              <details class="docs-more">
                <summary>Fields and example</summary>
                <Fields fields={body.fields} />
                <Example body={body} label={`${summary}, ${status}`} />
              </details>
            )}
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
    </>
  );
}

function Part({ title, children }: { title: string; children: Child }) {
  return (
    <div class="docs-part">
      <h4>{title}</h4>
      {children}
    </div>
  );
}

function Fields({ fields }: { fields: readonly DocsField[] }) {
  return (
    <dl class="docs-fields">
      {fields.map(({ name, type, isRequired, description }) => (
        <Definition
          term={<code>{name}</code>}
          note={isRequired ? [type, <strong>, required</strong>] : type}
          text={description}
        />
      ))}
    </dl>
  );
}

function Definition(
  { id, term, note, text }: { id?: string; term: Child; note?: Child; text: string | null },
) {
  return (
    <div id={id}>
      <dt>{term} {note && <span class="muted small">{note}</span>}</dt>
      {text && (
        <dd>
          <Prose text={text} />
        </dd>
      )}
    </div>
  );
}

function Example({ body, label }: { body: DocsBody; label: string }) {
  if (body.example === null) return null;
  return (
    <div class="code">
      <div class="code-scroll" tabindex={0} role="group" aria-label={`Example: ${label}`}>
        <pre>{body.example}</pre>
      </div>
    </div>
  );
}
