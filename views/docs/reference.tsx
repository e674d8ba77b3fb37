// The pages of the API reference: groups of operations, one operation, and every error.
import type { Child } from "hono/jsx";
import { CodeExample, type CodeSample } from "../components/code_example.tsx";
import type { DocsArticle } from "./docs_page.tsx";
import { Heading } from "./markdown.tsx";

export const publicWord = "None";

export interface DocsField {
  /** Such as `user.id` or `memberships[].role`. */
  readonly name: string;
  /** Such as “string, 1 to 100 characters”. */
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string | null;
}

export interface DocsBody {
  readonly type: string;
  readonly fields: readonly DocsField[];
  readonly example: string | null;
}

/** Texts have code in backticks. */
export interface DocsOperation {
  readonly description: readonly string[];
  /** The security schemes, any of which is enough; none for public operations. */
  readonly schemes: readonly string[];
  readonly parameters: readonly DocsField[];
  readonly body: DocsBody | null;
  readonly isBodyRequired: boolean;
  /** Other formats of the request, such as CloudEvents; null without any. */
  readonly others: {
    readonly description: readonly string[];
    readonly parameters: readonly DocsField[];
    readonly bodies: readonly DocsBody[];
  } | null;
  readonly responses: readonly {
    readonly status: number;
    readonly description: string;
    readonly headers: readonly DocsField[];
    readonly body: DocsBody | null;
  }[];
  readonly errors: readonly { readonly code: string; readonly status: number }[];
  readonly samples: readonly CodeSample[];
}

interface DocsOperationLink {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly read: () => DocsOperation;
}

export interface DocsGroup {
  /** The pages of its operations are below it. */
  readonly path: string;
  readonly name: string;
  readonly description: string;
  readonly operations: readonly DocsOperationLink[];
}

export interface DocsErrors {
  readonly fields: readonly DocsField[];
  readonly codes: readonly { readonly code: string; readonly status: number; readonly meaning: string }[];
}

export interface DocsEvent {
  readonly type: string;
  readonly meaning: readonly string[];
  readonly body: DocsBody;
}

/** Returns the page of what endpoints get. */
export function eventsArticle(events: readonly DocsEvent[]): DocsArticle {
  const lead = "What webhook endpoints receive, as the body of a POST request.";
  return {
    path: "/docs/reference/events",
    title: "Events",
    render: () => ({ lead, html: String(<EventsContent events={events} />) }),
  };
}

/** Returns the page of a group, and after it one for each of its operations. */
export function groupArticles(group: DocsGroup): DocsArticle[] {
  const { path, name, description, operations } = group;
  const lead = String(<Prose text={description} />);
  return [
    { path, title: name, render: () => ({ lead, html: String(<GroupContent group={group} />) }) },
    ...operations.map((operation) => ({
      path: `${path}/${operation.id}`,
      title: operation.summary,
      render: () => ({ lead: "", html: String(<OperationContent operation={operation} />) }),
    })),
  ];
}

export function errorsHtml(errors: DocsErrors): string {
  return String(<ErrorsContent errors={errors} />);
}

/** Longer lists are divided by the first words of their paths. */
const undividedMax = 20;

function GroupContent({ group: { path, operations } }: { group: DocsGroup }) {
  if (operations.length <= undividedMax) return <Operations path={path} operations={operations} />;
  const parts = Map.groupBy(operations, (one) => /^(?:\/[\w-]+){1,3}/.exec(one.path)?.[0] ?? "");
  return (
    <>
      {[...parts].map(([prefix, operations]) => (
        <>
          <Heading level={2} id={prefix.replace("/api/", "").replaceAll("/", "-")}>
            <code>{prefix}</code>
          </Heading>
          <Operations path={path} operations={operations} />
        </>
      ))}
    </>
  );
}

function Operations({ path, operations }: { path: string; operations: readonly DocsOperationLink[] }) {
  return (
    <ul class="doc-operations">
      {operations.map(({ id, method, path: address, summary }) => (
        <li>
          <a href={`${path}/${id}`}>{summary}</a>
          <Address method={method} path={address} />
        </li>
      ))}
    </ul>
  );
}

function OperationContent({ operation }: { operation: DocsOperationLink }) {
  const { method, path, summary, read } = operation;
  const { description, schemes, parameters, body, isBodyRequired, responses, others, errors, samples } =
    read();
  return (
    <>
      <Address method={method} path={path} />
      <Paragraphs texts={description} />
      <p>
        <a href="/docs/api#authenticate">Authentication</a>: {schemes.join(" or ") || publicWord}
      </p>
      <CodeExample id="example" title={summary} samples={samples} />
      {parameters.length > 0 && (
        <>
          <Heading level={2} id="parameters">Parameters</Heading>
          <Fields fields={parameters} />
        </>
      )}
      {body !== null && (
        <>
          <Heading level={2} id="body">{`Body${isBodyRequired ? "" : ", optional"}`}</Heading>
          <Body body={body} />
        </>
      )}
      <Responses responses={responses} />
      {others !== null && (
        <>
          <Heading level={2} id="other-formats">Other formats</Heading>
          <Paragraphs texts={others.description} />
          {others.parameters.length > 0 && <Fields fields={others.parameters} />}
          {others.bodies.map((other) => (
            <details class="doc-more">
              <summary>{other.type}</summary>
              <Body body={other} />
            </details>
          ))}
        </>
      )}
      <Heading level={2} id="errors">Errors</Heading>
      <ul class="doc-errors">
        {errors.map(({ code, status }) => (
          <li>
            <a href={`/docs/errors#error-${code}`}>
              <code>{code}</code>
            </a>{" "}
            <span class="muted tiny">{status}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function Paragraphs({ texts }: { texts: readonly string[] }) {
  return (
    <>
      {texts.map((text) => (
        <p>
          <Prose text={text} />
        </p>
      ))}
    </>
  );
}

function ErrorsContent({ errors: { fields, codes } }: { errors: DocsErrors }) {
  return (
    <>
      <Heading level={2} id="codes">Codes</Heading>
      <dl class="doc-fields">
        {codes.map(({ code, status, meaning }) => (
          <Definition id={`error-${code}`} term={<code>{code}</code>} note={status} text={meaning} />
        ))}
      </dl>
      <Heading level={2} id="fields">Fields</Heading>
      <Fields fields={fields} />
    </>
  );
}

function EventsContent({ events }: { events: readonly DocsEvent[] }) {
  return (
    <>
      <p>
        <a href="/docs/reference/webhooks/listEvents">List events</a> returns those of the last 30 days, and
        {" "}
        <a href="/docs/webhooks">Webhooks</a> explains how to receive them.
      </p>
      {events.map(({ type, meaning, body }) => (
        <>
          <Heading level={2} id={type}>
            <code>{type}</code>
          </Heading>
          {meaning.map((text) => <p>{`${text.replace(/\.$/, "")}.`}</p>)}
          <details class="doc-more">
            <summary>Example and fields</summary>
            {body.example !== null && (
              <CodeExample
                id={`example-${type}`}
                title={type}
                label="Body"
                samples={[{ language: "json", code: body.example }]}
              />
            )}
            <Fields fields={body.fields} />
          </details>
        </>
      ))}
    </>
  );
}

function Address({ method, path }: { method: string; path: string }) {
  return (
    <p class="doc-address">
      <strong>{method}</strong> <code>{path}</code>
    </p>
  );
}

function Body({ body: { type, fields } }: { body: DocsBody }) {
  return fields.length === 0
    ? (
      <p>
        <code>{type}</code>
      </p>
    )
    : <Fields fields={fields} />;
}

function Responses({ responses }: { responses: DocsOperation["responses"] }) {
  const isFirst = (example: string, status: number) =>
    responses.find(({ body }) => body?.example === example)?.status === status;
  return (
    <>
      <Heading level={2} id="responses">Responses</Heading>
      {responses.map(({ status, description, headers, body }) => (
        <>
          <p>
            <strong>{status}</strong> <Prose text={description} />
          </p>
          {headers.length > 0 && <Fields fields={headers} />}
          {body !== null && body.example !== null && isFirst(body.example, status) && (
            <CodeExample
              id={`response-${status}`}
              title={`Response ${status}`}
              label={String(status)}
              samples={[{ language: "json", code: body.example }]}
            />
          )}
          {body !== null && body.fields.length > 0 && (
            <details class="doc-more">
              <summary>Fields of the response</summary>
              <Fields fields={body.fields} />
            </details>
          )}
        </>
      ))}
    </>
  );
}

/** Shows text with code in backticks, and links to other pages of the documentation as in Markdown. */
function Prose({ text }: { text: string }) {
  return (
    <>
      {text.split(/(`[^`]*`|\[[^\]]+\]\(\/docs\/[^)]+\))/).map((part, index) => {
        if (index % 2 === 0) return part;
        const [, words, href] = /^\[(.+)\]\((.+)\)$/.exec(part) ?? [];
        return href === undefined ? <code>{part.slice(1, -1)}</code> : <a href={href}>{words}</a>;
      })}
    </>
  );
}

function Fields({ fields }: { fields: readonly DocsField[] }) {
  return (
    <dl class="doc-fields">
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
  { id, term, note, text }: { id?: string; term: Child; note: Child; text: string | null },
) {
  return (
    <div id={id}>
      <dt>
        {term} <span class="muted small">{note}</span>
      </dt>
      {text && (
        <dd>
          <Prose text={text} />
        </dd>
      )}
    </div>
  );
}
