// Where a key may be used from, and how often: the fields of its form, and what its page shows.
import type { ApiKey } from "../../domain/keys/api_key.ts";
import { countOf } from "../../domain/number_text.ts";
import { Card } from "../components/card.tsx";
import { TextField } from "../components/field.tsx";

/** The values of the fields, as typed or as stored. */
export interface KeyAccessValues {
  readonly addresses: string;
  readonly requestsPerSecond: string;
}

const addressesCharactersMax = 1_000;
const rateDigitsMax = 7;

export type KeyAccessErrors = { readonly [Name in keyof KeyAccessValues]: string | undefined };

interface KeyAccessFieldsProps {
  readonly values: KeyAccessValues;
  readonly errors: KeyAccessErrors;
}

export function KeyAccessFields({ values, errors }: KeyAccessFieldsProps) {
  return (
    <div class="row half">
      <TextField
        label="Allowed addresses (optional)"
        name="addresses"
        autocomplete="off"
        value={values.addresses}
        placeholder="For example: 198.51.100.0/24 203.0.113.7"
        hint="IP addresses or CIDR blocks, separated by spaces. If empty, any address."
        error={errors.addresses}
        maxlength={addressesCharactersMax}
      />
      <TextField
        label="Requests per second (optional)"
        name="requestsPerSecond"
        autocomplete="off"
        maxlength={rateDigitsMax}
        value={values.requestsPerSecond}
        inputmode="numeric"
        hint="If the plan's limit is lower, that one applies."
        error={errors.requestsPerSecond}
      />
    </div>
  );
}

/** The restrictions of a key on its page, if it has any. */
export function KeyAccess({ apiKey: { addresses, requestsPerSecond } }: { apiKey: ApiKey }) {
  if (addresses === null && requestsPerSecond === null) return null;
  return (
    <Card title="Restrictions">
      <dl class="details">
        {addresses && (
          <>
            <dt>Addresses</dt>
            <dd>{addresses.map((block) => <code class="block">{block}</code>)}</dd>
          </>
        )}
        {requestsPerSecond !== null && (
          <>
            <dt>Rate limit</dt>
            <dd>{`${countOf(requestsPerSecond, "request")} per second`}</dd>
          </>
        )}
      </dl>
    </Card>
  );
}
