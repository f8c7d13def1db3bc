// What the page sends and gets. Written by `python -m tools.page.shapes` from the types of the service.

declare namespace Sayso {
  type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

  // What a browser is asked about passkeys; the bytes are spelled in base64url.
  type SpelledKey = Omit<PublicKeyCredentialDescriptor, "id"> & { id: string };
  interface PasskeyOptions extends Omit<
    PublicKeyCredentialCreationOptions,
    "challenge" | "user" | "excludeCredentials"
  > {
    challenge: string;
    user: { id: string; name: string; displayName: string };
    excludeCredentials: SpelledKey[];
  }
  interface SigningOptions extends Omit<PublicKeyCredentialRequestOptions, "challenge" | "allowCredentials"> {
    challenge: string;
    allowCredentials: SpelledKey[];
  }

  interface AnswerBody {
    answer?: string | null;
    items?: Record<string, string> | null;
    edited?: Record<string, Json> | null;
    command?: string | null;
    reason?: string | null;
    digest?: string | null;
    edited_digest?: string | null;
    proof?: Proof | null;
    break_glass?: boolean;
  }
  interface AnswerResult {
    question: string;
    state: string;
    answer: string | null;
    by: string | null;
    at: number | null;
    yours: boolean;
    missing: string | null;
  }
  interface ApplyBody {
    content: string;
    shown: string;
    proof?: Proof | null;
  }
  interface ApprovalProgress {
    approved: string[];
    there: number;
    needed: number;
    missing: string;
    complete: boolean;
    yours: OwnApproval | null;
  }
  interface ArgumentType {
    kind: "choice" | "date" | "number" | "other" | "whole";
    choices: Json[];
  }
  interface AuditEntryView {
    seq: number;
    stream: string;
    hash: string;
    prev: string;
    line: string;
    entry: Record<string, Json> | null;
  }
  interface AuditState {
    entries: number;
    newest_at: number | null;
    checkpoint_size: number;
    checkpoint_at: number | null;
    streams: string[];
  }
  interface AuditVerification {
    clean: boolean;
    entries: number;
    findings: string[];
    tampering: string | null;
  }
  interface BegunView {
    url: string;
    page: string;
  }
  interface BrokenGlass {
    at: number;
    question: string;
    person: string;
    identity: string;
    reason: string;
    operations: string[];
  }
  interface Charts {
    hours: Tally[];
    agents: Tally[];
    categories: Tally[];
  }
  interface CheckTrace {
    rule: string;
    spoke: boolean;
    why: string;
  }
  interface CodeBody {
    code: string;
  }
  interface Consent {
    id: string;
    words: string | null;
  }
  interface DecisionBody {
    why?: string;
  }
  interface DecisionChange {
    operation: string;
    before: string;
    after: string;
    conditions: string[];
  }
  interface DecisionRecord {
    decision: HistoryEntry;
    origin: string;
    policy: string;
    operations: OperationRuling[];
    grants: Consent[];
    call: string | null;
    state: string | null;
    because: Piece[];
    again: FreshDecision | null;
    again_not: string | null;
  }
  interface DelegationBody {
    to: string;
    hours: number;
    domain?: string | null;
    up_to?: string;
  }
  interface DelegationView {
    id: string;
    giver: string;
    to: string;
    until: number;
    domain: string | null;
    up_to: string;
  }
  interface DiffLine {
    sign: " " | "+" | "-";
    text: string;
  }
  interface DomainDecay {
    reviewed_at: number | null;
    decays_at: number | null;
    decayed: boolean;
  }
  interface DomainReview {
    domain: string;
    decay: DomainDecay;
    days_left: number | null;
    permissions: PermissionUse[];
    digest: string;
    signed: boolean;
    clock_trusted: boolean;
  }
  interface DomainView {
    name: string;
    trust_level: string | null;
    autonomous: string[];
    requires_approval: string[];
    blocked: string[];
    trusted_channel_required: string[];
    reviewed_at: number | null;
    decays_at: number | null;
    decayed: boolean;
  }
  interface DraftBody {
    text: string;
  }
  interface DraftDiff {
    loosened: DecisionChange[];
    tightened: DecisionChange[];
    beyond: OtherChange[];
    loosens: boolean;
  }
  interface EditBody {
    edited: Record<string, Json>;
  }
  interface EditPreview {
    digest: string;
    denied: boolean;
    risk: string;
    why: string;
    rule: string;
    command: string | null;
    arguments: Record<string, Json>;
    target: string | null;
    operations: string[];
    because: Piece[];
    signed: boolean;
    title: string;
  }
  interface EditableArguments {
    arguments: string[];
    same_kinds: boolean;
    types: Record<string, ArgumentType>;
  }
  interface EndedGrant {
    id: string;
    session: string;
    words: string;
    already: boolean;
    also: EndedGrant[];
  }
  interface Figures {
    decisions: number;
    allowed: number;
    asked: number;
    denied: number;
    prompts: number;
    avoided: number;
    prompts_per_category_per_task: number | null;
    most_prompts_in_a_category_of_a_task: number;
    high_risk_asked: number | null;
    high_risk_unasked: Record<string, number>;
    repeated_commands_on_allowlist: number | null;
    prompts_per_hour: number | null;
    median_time_to_answer: number | null;
    answers: number;
    answers_too_fast: number;
    expired: number;
    pruned: number;
    rated: number;
    rated_clear: number | null;
  }
  interface FileDiff {
    path: string;
    hunks: Hunk[];
    creates: boolean;
    deletes: boolean;
  }
  interface FolderIdentity {
    host: string;
    path: string;
    device: number;
    inode: number;
  }
  interface FreshDecision {
    verdict: string;
    rule: string;
    reason: string;
    policy: string;
    trace: OperationTrace[];
  }
  interface HistoryEntry {
    seq: number;
    stream: string;
    at: number;
    event: string;
    session: string;
    agent: string;
    operations: string[];
    tool: string;
    verdict: string;
    rule: string;
    reason: string;
    risk: string;
    digest: string;
    question: string | null;
    answer: string | null;
    by: string | null;
    call: Record<string, Json> | null;
    title: string;
    state: string;
    steps: StoryStep[];
    edited_digest: string | null;
  }
  interface Hunk {
    before: number;
    after: number;
    lines: DiffLine[];
  }
  interface ItemView {
    id: string;
    operation: string;
    risk: string;
    category: string;
    why: string;
    does: string | null;
    declared: boolean;
  }
  interface LastUse {
    allowed_at: number | null;
    asked_at: number | null;
    refused_at: number | null;
  }
  interface ListedGrant {
    id: string;
    session: string;
    agent: string;
    kind: "call" | "category" | "command" | "operation" | "retry" | "run" | "tool" | "workflow";
    value: string;
    words: string;
    risk: string;
    left: number;
    expires_at: number;
    used: number;
    uses: number | null;
    ends_with: string;
    pins: Pins;
    given_at: number;
    given_by: string;
    question: string | null;
    about: string | null;
  }
  interface LiveEvent {
    kind: "answer" | "decision" | "grant" | "hello" | "ping" | "policy" | "question" | "run" | "session" | "waiting";
    id: string;
    session: string;
    every?: number;
  }
  interface NewPasskeyBody {
    name: string;
    credential: Record<string, Json>;
  }
  interface NotifyView {
    on: boolean;
    key: string;
  }
  interface OfferView {
    answer: string;
    words: string;
    would_have_covered: number;
    of_last: number;
  }
  interface OperationRuling {
    operation: string;
    category: string;
    risk: string;
    weight: string;
    verdict: string;
    rule: string;
    reason: string;
  }
  interface OperationTrace {
    operation: string;
    tier: string;
    risk: string;
    weight: string;
    checks: CheckTrace[];
  }
  interface OtherChange {
    what: string;
    before: string;
    after: string;
    loosens: boolean;
  }
  interface OwnApproval {
    counts: boolean;
    why_not: string;
    glass: boolean;
  }
  interface PasskeyView {
    id: string;
    name: string;
    place: string;
    made_at: number;
    used_at: number | null;
  }
  interface PasskeysView {
    passkeys: PasskeyView[];
    require: "all" | "high" | "never" | null;
  }
  interface PeopleView {
    people: PersonView[];
    rules: string[];
    break_glass: string[];
    delegations: DelegationView[];
    you: string | null;
  }
  interface PermissionUse {
    operation: string;
    used: number;
    asked: number;
    refused: number;
  }
  interface PersonView {
    name: string;
    groups: string[];
    ids: string[];
  }
  interface Piece {
    argument: string | null;
    text: string;
  }
  interface Pins {
    tool: string | null;
    workspace: string | null;
    command: string | null;
    arguments: string | null;
    operations: string[] | null;
    targets: string[] | null;
    folder: string | null;
  }
  interface PolicyEffect {
    loosened: string[];
    tightened: string[];
    loosens: boolean;
  }
  interface PolicyReplayBody {
    text?: string | null;
    grant?: WishedGrantBody | null;
    seconds?: number;
  }
  interface PolicyStatus {
    file: string;
    state: "in_force" | "new" | "not_the_locked_one" | "refused" | "tightens" | "waits";
    content: string;
    digest: string | null;
    since: number | null;
    by: string;
    locked: boolean;
    problem: string;
    loosened: DecisionChange[];
    tightened: DecisionChange[];
    beyond: OtherChange[];
    shown: string;
    must_sign: boolean;
  }
  interface PolicyView {
    digest: string;
    mode: string;
    settings: Record<string, Json>;
    domains: DomainView[];
    operations: Record<string, Record<string, Json>>;
    uses: Record<string, LastUse>;
  }
  interface Proof {
    credential: string;
    authenticator_data: string;
    client_data: string;
    signature: string;
    key?: string;
  }
  interface Proposal {
    id: string;
    root: string;
    path: string;
    diff: string;
    undo: string;
    reason: string;
    by: string;
    origin: string;
    before: string | null;
    after: string | null;
    proposed_at: number;
    proposed_ran: number;
    cooling: number;
    undo_window: number;
    state: "applied" | "applying" | "approved" | "failed" | "proposed" | "rejected" | "settled" | "undoing" | "undone" | "void" | "withdrawn";
    decided_by: string;
    decided_at: number | null;
    applied_at: number | null;
    applied_ran: number | null;
    note: string;
    operation: string;
    folder: FolderIdentity | null;
    carrier: string;
    lease_until: number;
    approved_as: string;
    approved_with: string;
    means: string;
  }
  interface ProposalView {
    proposal: Proposal;
    cools_in: number;
    undo_for: number;
    fits: boolean;
    hindrance: string;
    clock_trusted: boolean;
    digest: string;
    signed: boolean;
    change: FileDiff | null;
    undo_change: FileDiff | null;
    effect: PolicyEffect | null;
  }
  interface ProviderView {
    name: string;
    label: string;
  }
  interface PushKeys {
    p256dh: string;
    auth: string;
  }
  interface QuestionDetails {
    id: string;
    state: string;
    session: string;
    agent: string;
    turn: number;
    title: string;
    sentence: boolean;
    message: string | null;
    risk: string;
    tool: string;
    command: string | null;
    arguments: Record<string, Json>;
    target: string | null;
    folder: string;
    world: string | null;
    text: string;
    why: string;
    rule: string;
    items: ItemView[];
    offers: OfferView[];
    bundle: string | null;
    later: string[];
    digest: string;
    opened_at: number;
    expires_at: number;
    approval_lasts: number;
    waiting: boolean | null;
    signed: boolean;
    door: string;
    server: string;
    workflow: string | null;
    left_at: number | null;
    complete: boolean;
    because: Piece[];
    editing: EditableArguments | null;
    answer: string | null;
    by: string | null;
    reason: string | null;
    closed_at: number | null;
    approvals: ApprovalProgress | null;
  }
  interface QuestionReason {
    question: string;
    why: string;
  }
  interface Rating {
    question: string;
    clear: boolean;
    by: string;
    yours: boolean;
  }
  interface RatingBody {
    clear: boolean;
  }
  interface ReplayExample {
    stream: string;
    entry: number;
    at: number;
    agent: string;
    session: string;
    title: string;
  }
  interface ReplayReport {
    decisions: number;
    before: Record<string, number>;
    after: Record<string, number>;
    loosened: ReplayedChange[];
    tightened: ReplayedChange[];
    by_limits: number;
    not_replayed: Record<string, number>;
  }
  interface ReplayedChange {
    operations: string[];
    before: string;
    after: string;
    rule_before: string;
    rule_after: string;
    times: number;
    examples: ReplayExample[];
  }
  interface Resumed {
    session: string;
    already: boolean;
    held_by: string | null;
  }
  interface ResumedAll {
    resumed: number;
    tampered: number;
    busy: number;
  }
  interface ReturnBody {
    code: string;
    state: string;
    page: string;
    iss?: string | null;
  }
  interface ReviewBody {
    digest: string;
    proof?: Proof | null;
  }
  interface RunProgress {
    run: string;
    workflow: string;
    session: string;
    state: string;
    began: number;
    steps: Record<string, string>;
  }
  interface SessionView {
    id: string;
    agent: string;
    owner: string;
    user: string;
    workspace: string;
    parent: string | null;
    opened_at: number;
    turn: number;
    task: string | null;
    phase: string | null;
    stopped: boolean;
    tampered: boolean;
    questions: number;
    presence: string;
    last_seen: number | null;
    opened_by: string;
    grants: ListedGrant[];
  }
  interface SignBody {
    act: "approve" | "undo";
    digest: string;
  }
  interface SignedBody {
    digest: string;
    proof?: Proof | null;
  }
  interface SignedInUser {
    name: string;
    page: string | null;
  }
  interface StatsView {
    since: number;
    figures: Figures;
    charts: Charts;
  }
  interface Stopped {
    session: string;
    stopped: boolean;
    already: boolean;
    cleared: string[];
  }
  interface StoppedAll {
    stopped: number;
    tampered: number;
    settled: boolean;
  }
  interface StoryStep {
    what: "allowed" | "answered" | "asked" | "cancelled" | "denied" | "edited" | "ended" | "expired" | "ran_out" | "repeated" | "started" | "taken_back";
    at: number | null;
    by: string | null;
    answer: string | null;
    reason: string | null;
    state: string | null;
    before: Record<string, Json> | null;
    after: Record<string, Json> | null;
    times: number;
  }
  interface SubscriptionBody {
    endpoint: string;
    keys: PushKeys;
    expirationTime?: number | null;
  }
  interface Suggestion {
    id: string;
    kind: "always_approved" | "never_used" | "often_refused";
    operations: string[];
    risk: string;
    words: string;
    evidence: SuggestionEvidence;
    effect: SuggestionEffect | null;
    diff: string | null;
    path: string;
    why_not: string;
  }
  interface SuggestionEffect {
    decisions: number;
    loosened: number;
    tightened: number;
    not_replayed: number;
  }
  interface SuggestionEvidence {
    asked: number;
    approved: number;
    denied: number;
    expired: number;
    first_at: number | null;
    last_at: number | null;
    people: string[];
    tool: string;
    folder: string;
    title: string;
    agents: string[];
  }
  interface Tally {
    name: string;
    allowed: number;
    asked: number;
    denied: number;
    avoided: number;
    prompts: number;
    answers: number;
    median_time_to_answer: number | null;
    answers_too_fast: number;
  }
  interface TightenBody {
    action: string;
  }
  interface VerifyBody {
    checkpoints?: string[];
  }
  interface WishedGrantBody {
    kind: "category" | "command" | "operation";
    value: string;
    risk?: "high" | "low" | "moderate";
  }
  interface WorkflowRevocation {
    workflow: string;
    ended: number;
  }
  type GetAnswer<Path extends string> =
    Path extends "/v1/audit/entries" ? AuditEntryView[] :
    Path extends "/v1/people/broken-glass" ? BrokenGlass[] :
    Path extends "/v1/policy/file" ? PolicyStatus :
    Path extends "/v1/policy/reviews" ? DomainReview[] :
    Path extends "/v1/policy/suggestions" ? Suggestion[] :
    Path extends "/v1/audit" ? AuditState :
    Path extends "/v1/grants" ? ListedGrant[] :
    Path extends "/v1/history" ? HistoryEntry[] :
    Path extends "/v1/passkeys" ? PasskeysView :
    Path extends "/v1/people" ? PeopleView :
    Path extends "/v1/policy" ? PolicyView :
    Path extends "/v1/proposals" ? ProposalView[] :
    Path extends "/v1/questions" ? QuestionDetails[] :
    Path extends "/v1/runs" ? RunProgress[] :
    Path extends "/v1/sessions" ? SessionView[] :
    Path extends "/v1/stats" ? StatsView :
    Path extends "/notify" ? NotifyView :
    Path extends "/sign-in-providers" ? ProviderView[] :
    Path extends "/signed-in" ? SignedInUser :
    Path extends `/v1/questions/${string}/why` ? QuestionReason :
    Path extends `/v1/history/${string}` ? DecisionRecord :
    Path extends `/v1/proposals/${string}` ? ProposalView :
    Path extends `/v1/questions/${string}` ? QuestionDetails :
    unknown;
  type PostAnswer<Path extends string> =
    Path extends "/v1/policy/apply/challenge" ? SigningOptions :
    Path extends "/v1/audit/verify" ? AuditVerification :
    Path extends "/v1/passkeys/options" ? PasskeyOptions :
    Path extends "/v1/people/delegations" ? DelegationView :
    Path extends "/v1/policy/apply" ? PolicyStatus :
    Path extends "/v1/policy/diff" ? DraftDiff :
    Path extends "/v1/policy/replay" ? ReplayReport :
    Path extends "/v1/sessions/resume" ? ResumedAll :
    Path extends "/v1/sessions/stop" ? StoppedAll :
    Path extends "/v1/sign-in/options" ? SigningOptions :
    Path extends "/v1/passkeys" ? PasskeyView :
    Path extends "/v1/sign-in" ? SignedInUser :
    Path extends "/notify" ? NotifyView :
    Path extends "/sign-in" ? SignedInUser :
    Path extends "/sign-out" ? undefined :
    Path extends `/v1/sessions/${string}/workflows/${string}/revoke` ? WorkflowRevocation :
    Path extends `/v1/policy/reviews/${string}/challenge` ? SigningOptions :
    Path extends `/v1/policy/reviews/${string}/tighten` ? Proposal :
    Path extends `/v1/policy/suggestions/${string}/proposal` ? Proposal :
    Path extends `/v1/policy/reviews/${string}` ? DomainReview[] :
    Path extends `/v1/proposals/${string}/apply` ? Proposal :
    Path extends `/v1/proposals/${string}/approve` ? Proposal :
    Path extends `/v1/proposals/${string}/challenge` ? SigningOptions :
    Path extends `/v1/proposals/${string}/reject` ? Proposal :
    Path extends `/v1/proposals/${string}/undo` ? Proposal :
    Path extends `/v1/proposals/${string}/withdraw` ? Proposal :
    Path extends `/v1/questions/${string}/answer` ? AnswerResult :
    Path extends `/v1/questions/${string}/challenge` ? SigningOptions :
    Path extends `/v1/questions/${string}/edited` ? EditPreview :
    Path extends `/v1/questions/${string}/rating` ? Rating :
    Path extends `/v1/sessions/${string}/resume` ? Resumed :
    Path extends `/v1/sessions/${string}/stop` ? Stopped :
    Path extends `/sign-in/${string}/begin` ? BegunView :
    Path extends `/sign-in/${string}` ? SignedInUser :
    unknown;
  type PostBody<Path extends string> =
    Path extends "/v1/policy/apply/challenge" ? ApplyBody :
    Path extends "/v1/audit/verify" ? VerifyBody :
    Path extends "/v1/passkeys/options" ? undefined :
    Path extends "/v1/people/delegations" ? DelegationBody :
    Path extends "/v1/policy/apply" ? ApplyBody :
    Path extends "/v1/policy/diff" ? DraftBody :
    Path extends "/v1/policy/replay" ? PolicyReplayBody :
    Path extends "/v1/sessions/resume" ? undefined :
    Path extends "/v1/sessions/stop" ? undefined :
    Path extends "/v1/sign-in/options" ? undefined :
    Path extends "/v1/passkeys" ? NewPasskeyBody :
    Path extends "/v1/sign-in" ? Proof :
    Path extends "/notify" ? SubscriptionBody :
    Path extends "/sign-in" ? CodeBody :
    Path extends "/sign-out" ? undefined :
    Path extends `/v1/sessions/${string}/workflows/${string}/revoke` ? undefined :
    Path extends `/v1/policy/reviews/${string}/challenge` ? ReviewBody :
    Path extends `/v1/policy/reviews/${string}/tighten` ? TightenBody :
    Path extends `/v1/policy/suggestions/${string}/proposal` ? undefined :
    Path extends `/v1/policy/reviews/${string}` ? ReviewBody :
    Path extends `/v1/proposals/${string}/apply` ? undefined :
    Path extends `/v1/proposals/${string}/approve` ? SignedBody :
    Path extends `/v1/proposals/${string}/challenge` ? SignBody :
    Path extends `/v1/proposals/${string}/reject` ? DecisionBody :
    Path extends `/v1/proposals/${string}/undo` ? SignedBody :
    Path extends `/v1/proposals/${string}/withdraw` ? DecisionBody :
    Path extends `/v1/questions/${string}/answer` ? AnswerBody :
    Path extends `/v1/questions/${string}/challenge` ? AnswerBody :
    Path extends `/v1/questions/${string}/edited` ? EditBody :
    Path extends `/v1/questions/${string}/rating` ? RatingBody :
    Path extends `/v1/sessions/${string}/resume` ? undefined :
    Path extends `/v1/sessions/${string}/stop` ? undefined :
    Path extends `/sign-in/${string}/begin` ? undefined :
    Path extends `/sign-in/${string}` ? ReturnBody :
    unknown;
  type DeleteAnswer<Path extends string> =
    Path extends "/notify" ? NotifyView :
    Path extends `/v1/people/delegations/${string}` ? DelegationView :
    Path extends `/v1/grants/${string}` ? EndedGrant :
    Path extends `/v1/passkeys/${string}` ? PasskeyView :
    unknown;
}
