//! The table of the rules. It names nothing of this crate: `cargo xtask rules` is built with this file too, and with nothing else of the core.

use Case::{Module, Trace};

/// The environment variable that names the rule to switch off, where switches are built in; empty or not set: none.
pub const SWITCH: &str = "CROSSBRIDGE_RULE_OFF";

/// What must go wrong without a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// A trace of docs/reliability.md: a test of its number.
    Trace(u8),
    /// A test in this module of `tests/sim/tests/model`.
    Module(&'static str),
}

macro_rules! rules {
    ($($rule:ident: $sentence:literal, $closes:expr;)+) => {
        /// A rule of the machine that can be taken out, to show that it is needed and that a test would miss it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Rule {
            $(#[doc = $sentence] $rule,)+
        }

        impl Rule {
            /// Every rule, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$rule),+];

            /// The name by which [`SWITCH`] knows it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$rule => stringify!($rule),)+
                }
            }

            /// What holds while it is in force.
            pub const fn sentence(self) -> &'static str {
                match self {
                    $(Self::$rule => $sentence,)+
                }
            }

            /// What goes wrong without it.
            pub const fn closes(self) -> &'static [Case] {
                match self {
                    $(Self::$rule => &$closes,)+
                }
            }
        }
    };
}

rules! {
    // When a create is settled
    AbsenceResolvesAfterTime: "absence counts only when observed after the time", [Trace(1), Trace(2), Trace(3)];
    ObservationBeginCounts: "the time at which the observation began counts, not that of the decision", [Trace(3)];
    WindowFollowsDeadline: "the consistency window comes on top of the deadline", [Trace(4)];
    CallsHaveMargin: "a call may take effect until its margin has passed", [Trace(1), Trace(2), Trace(28)];
    StatusConfirmsToken: "the first Ready status names the confirmed token", [Trace(15)];
    NoEffectResolvesFirstAttempt: "`EFFECT_NONE` resolves attempt 0 only, while no other exists", [Trace(6)];
    OperationFailedSpeaksAlone: "only `OPERATION_FAILED` speaks of the operation", [Trace(23)];
    ExpiredOperationResolvesNothing: "a forgotten operation resolves nothing", [Trace(8)];
    OperationOfRepeatResolvesNothing: "only the end of attempt 0, or of an exclusive one, resolves", [Trace(24)];
    OperationOfNewestAttemptResolves: "only the operation of the newest attempt resolves", [Trace(24)];
    NewerOperationStays: "a late answer does not take the place of a newer operation", [Trace(24)];
    FailedOperationHasEnded: "an operation that failed has ended", [Trace(44)];
    ForgottenOperationMayGoOn: "a forgotten operation may go on", [Trace(44)];
    LostOperationMayGoOn: "the operation of a lost answer may go on", [Trace(46)];
    DoneWhenAnswered: "what an operation created may be hidden from the time at which it was answered as done", [Trace(55)];
    EndedWhenReported: "what a failed operation left may be hidden from the time at which that was reported", [Trace(56)];
    NamedFailureHadEffect: "a failure that reports a name has had an effect", [Trace(48)];
    UnobservableKindIsNotAbsent: "a kind that cannot be observed is not observed as absent", [Trace(5)];
    ReportedNameIsOfItsAttempt: "absence of a name that an answer reported speaks of that attempt alone", [Trace(24)];

    // What is sent, and when
    NothingSentAfterDeadline: "nothing is sent after its deadline", [Trace(1), Trace(13)];
    OneCallAtATime: "one call at a time", [Trace(2), Trace(12), Trace(13)];
    RecordedCallMayRun: "the call of an intent may run until its deadline, or until its first attempt was answered", [Trace(31), Trace(43)];
    RepeatedIntentKeepsDeadline: "a closed intent with several attempts keeps its deadline", [Trace(12)];
    UnknownEffectEndsNothing: "an answer that cannot tell the effect ends nothing", [Trace(35)];
    CreateFollowsItsIntent: "a Create is sent only right after its intent was written", [Trace(1), Trace(11)];
    UpdateNeedsVerification: "an Update, and a Delete without an intent, need the version verified in this reconcile", [Trace(11)];
    DrivingPollIsACall: "a poll that drives counts as the call that it continues", [Trace(31)];
    RecordedIsSentDuringSuspension: "what was just recorded is sent before a suspension is heeded", [Trace(37)];

    // Repeats
    RepeatWithinRetention: "retained means that the whole repeat lies within the retention", [Trace(10)];
    PolicyForbidsRepeat: "a policy without Create forbids the repeat", [Module("policies")];
    SentSecretsAreRecorded: "a changed secret is sent only where the record knows of it", [Module("secrets")];
    RepeatForgetsAppliedSecrets: "a repeat with another secret forgets which one was applied", [Module("secrets")];
    RecordedParametersAreSent: "the recorded parameters are sent", [Trace(9)];
    RepeatCarriesNoReportedName: "a repeat carries no name that an answer reported", [Trace(9)];
    RejectedRepeatExhaustsToken: "a rejected repeat exhausts the token", [Trace(25)];
    ExclusiveAfterAllAttempts: "a repeat counts as exclusive only when nothing earlier can come", [Trace(25)];
    ExclusiveRenewsToken: "an exclusive repeat begins the token's turn anew", [Trace(25)];

    // Recovery
    MarkerIsSetOnCreation: "marker recovery only where the creating request sets the marker", [Trace(21)];
    RecoveryObservesByMarkerAlone: "recovery observes by the marker alone", [Trace(14)];
    RecoveryIgnoresFormerMarker: "recovery observes for our marker alone", [Trace(36)];
    NewIntentForgetsName: "a new intent forgets the name of a former resource", [Trace(14)];
    CreateObservedAsRecorded: "what an unanswered create may have made is observed as it was recorded", [Trace(33)];
    AbsenceElsewhereMeansNothing: "in another account absence means nothing", [Module("accounts")];
    PersonAskedAfterTime: "a person is asked after the time", [Trace(30)];
    AnswerMatchesQuestion: "an answer counts for the question of its token and attempt", [Trace(30)];
    PersonsNameIsObserved: "a person's name is taken when it was observed", [Trace(49)];
    AnswerIsObservedBeside: "a person's name is observed beside the one that an answer reported", [Trace(57)];

    // What this process remembers
    UnsentIsClosed: "what was certainly never sent is closed", [Trace(37)];
    FirstAttemptAloneIsUnsent: "only attempt 0 is certainly never sent", [Trace(37)];
    NewIntentAloneIsUnsent: "only an intent that is new with the write is unsent", [Trace(11)];
    EachUnsentIsRemembered: "each of the newest intents that were not sent is remembered", [Trace(37)];
    TermEndsMemory: "what was learned in another term of leading counts no more", [Trace(39)];
    AnswerEndsObservation: "what was observed before an answer counts no more after it", [Trace(17), Trace(27)];
    AnswerIsAsOldAsItsCall: "what an answer showed is as old as its call", [Trace(3)];

    // What is written, and upon what
    FailureOfOwnAttempt: "a failure is written only for one's own attempt", [Trace(7)];
    AnswerOfOwnToken: "an answer is persisted only where the token is still its own", [Trace(7)];
    WritesGuardedByVersion: "writes are guarded by the version", [Trace(16)];
    RecordOfOwnUid: "a record of another uid is none", [Trace(16)];
    FinalizerGuardedByVersion: "the finalizer goes only upon the version that was decided upon", [Trace(42)];
    SecretsAppliedOnCompletion: "a secret counts as applied when its operation completes", [Trace(53)];

    // Absence of what existed
    AbsenceNeedsConfirmation: "a known name is absent only if an observation after the window finds it so too", [Trace(29)];
    SecondAbsenceBeganAfterWindow: "the second absent observation began after the window", [Trace(29)];
    MomentaryAbsenceIsDoubted: "an absence of a moment is none", [Trace(47)];
    HiddenAfterCall: "not visible just after creation is not absent", [Trace(15)];
    HiddenAfterConfirmation: "not visible just after the name came is not absent", [Trace(15)];

    // Whose it is
    UnmarkedIsNotOurWork: "what the creating request would have marked is not ours unmarked", [Trace(28)];
    AdoptedIsNotOurWork: "what a person says is ours is not the work of an unanswered create", [Trace(36)];
    ConflictIsRecorded: "`ALREADY_EXISTS` is recorded", [Trace(17)];
    ConflictOfRepeatIsRecorded: "`ALREADY_EXISTS` is recorded of a repeat too", [Trace(17)];
    ChangedNameStops: "a changed name stops everything but deletion", [Trace(18)];
    OtherAccountIsForeign: "what has our name in another account is not ours", [Trace(34)];
    OtherAccountIsNotPolled: "another account is asked nothing about our operations", [Trace(34)];
    OthersCreationIsNotAdopted: "what another object of ours is creating is not adopted", [Trace(40)];
    NothingBesideAnotherCreator: "nothing is created beside another object that creates the same", [Trace(45)];
    NeitherOfTwoCreators: "of two that are creating one name neither has it", [Trace(45)];
    FixedFieldsSeparate: "desired states that differ in what is fixed are of two places", [Trace(45)];
    FoundIsTheOthers: "what agrees with all that another object fixes is that one's", [Trace(45)];
    OwnDetailsAlone: "connection details of what is somebody else's are not published", [Module("secrets")];
    FormerDetailsAreForgotten: "what a former resource gave says nothing of the next", [Module("secrets")];
    UndesiredRemovalIsNotDriven: "a removal that nobody here asked for is waited for", [Trace(41)];
    OperationOfOwnResource: "an operation is about its own resource", [Trace(54)];

    // Deletion
    DeleteOfNameNeedsIntent: "a Delete of a name needs an intent", [Trace(13), Trace(31)];
    PendingDeleteIsACall: "a Delete that the status records is a recorded call", [Trace(13), Trace(38)];
    DrivenRemovalHasItsIntent: "a removal is not driven on with an intent of before its Delete", [Trace(31)];
    FoundRemovalIsOwn: "a removal that was found is driven on only of the object's own resource", [Trace(27)];
    RemovalKeepsOpenCreate: "a removal that was found closes no create that is open", [Trace(31)];
    MarkerReplacesNoIntent: "a marker is no reason to delete without an intent", [Trace(43)];
    DeletionLeavesUnmarked: "a deletion leaves what the creating request would have marked, and did not", [Trace(27)];
    DeletionAdoptsNothing: "deletion adopts nothing", [Trace(27)];
    DeletionKeepsTimeOfCreate: "a deletion keeps the time of the create", [Trace(15)];
    DeletionNeedsAnswerAndAbsence: "an answered Delete and an absence", [Trace(15)];
    AnsweredDeleteOfOwnResource: "an answered Delete counts for its own resource only", [Trace(15)];
    FinalizerWaitsForCalls: "the finalizer goes only when no recorded call can execute", [Trace(31)];
    OrphanWaitsForCalls: "an orphan goes only when no recorded call can execute", [Trace(38)];
    OrphanWaitsForUnrecordedDelete: "an orphan goes only when no unrecorded Delete can execute", [Trace(38)];
    HiddenIsNotDeletedEarly: "what may be hidden is not deleted before its creation has ended", [Trace(46)];
    PluginChecksMarker: "the plugin checks the marker in Update and Delete", [Trace(20)];
    DrivenRemovalIsNotDeleting: "a removal that moves only when polled is not reported to go on by itself", [Trace(32)];

    // Replacement
    ApprovalIsUsedOnce: "an approval that was used up counts no more", [Trace(51)];
    ReplacementOfItsGeneration: "a replacement is of the generation that was approved", [Trace(51)];
    ReplacementOfItsResource: "a replacement is of the resource that was approved", [Trace(51)];
    ReplacementEnds: "a begun replacement is over when nothing is to be replaced", [Trace(51)];
    UnaskedApprovalIsUsedUp: "an approval without a question is used up", [Trace(51)];
    MarkedBeforeReplaced: "what lost its marker is marked before it is replaced", [Trace(52)];

    // Composite resources
    CreateFollowsItsReference: "an object is created only when its reference is stored", [Module("composite")];
    CreateNeedsVerification: "an object is created only upon a version that was verified in this term", [Module("composite")];
    ReferenceOutlivesCreates: "a reference stays until no create of its object can land any more", [Module("composite")];
    AbsenceIsReadLive: "a reference goes only when a read past the caches began after that", [Module("composite")];
    OrphaningDefinitionDeletesNothing: "a definition that is deleted with `--cascade=orphan` deletes nothing", [Module("definition")];
    OrphanedIsNotAdopted: "what has lost its owner is adopted only after a read past the caches shows that this is not being deleted", [Module("composite")];
    RefusedReportHoldsNothing: "what is to be deleted does not wait for a status that is refused", [Module("composite"), Module("claim")];
    ReapplicationBacksOff: "what does not stay as it is applied is applied with a back-off", [Module("composite")];
    RecreationBacksOff: "what somebody else deletes again and again is created with a back-off", [Module("composite")];
    StraysAreReferred: "what names the composite resource as its controller is referred to", [Module("composite")];
    ForeignIsLeftAlone: "what another owner controls is neither written nor deleted", [Module("composite")];
    NameIsNoClaim: "what nobody controls is taken over only if it was composed under this name", [Module("composite")];
    BlockerIsNamed: "what holds a deletion up is named once nothing has moved for a while", [Module("composite")];
    OverdueIsSaid: "a composite resource whose deletion takes longer than its deadline says so", [Module("composite")];
    DeletionIsSeenFirst: "nothing is deleted before the status says why", [Module("composite")];
    ReleaseWaitsToRead: "a release of all waits for what cannot be read for a moment", [Module("composite")];
    ReleaseNamesUid: "only what a release names by its uid is left behind", [Module("composite")];
    DeletionNamesVersion: "an object is deleted only in the version that was decided upon", [Module("composite")];
    ChangeNamesVersion: "an object is changed only in the version that was decided upon", [Module("composite")];
    DeletedOnce: "what is being deleted is not deleted again", [Module("composite")];
    CompositeOutlivesCreates: "a composite resource stays until no create of what it composes can land any more", [Module("composite")];
    CompositeOutlivesComposed: "a composite resource stays until all that it composed is gone", [Module("composite")];
    OrphansAreNotDeleted: "while the finalizer orphan is on, nothing is deleted", [Module("composite")];
    FormerKindStays: "an object of a former kind stays until it is deleted by hand", [Module("composite")];
    ExternalNameIsReserved: "nothing is created while another object of its external name is being deleted", [Module("composite")];
    AlteredIsNotFought: "what the API server makes of a field is not fought", [Module("composite")];
    ResultOfWhatIsDesired: "a result counts only for what is desired now", [Module("composite")];
    HomeIsKept: "what a namespaced composite resource composes is in its namespace", [Module("composite")];
    OneObjectPerName: "of two objects of one composition resource name and kind one stays", [Module("composite")];
    TakenNameIsObserved: "an object that has the name of one to be created is read past the caches", [Module("composite")];
    LeaderAloneBegins: "without the lease, or draining, nothing is begun", [Module("composite")];
    PausedIsLeftAlone: "a paused composite resource is left as it is, deletion included", [Module("composite")];
    ReadinessIsTheFunctions: "a composed resource is ready only if its function says so", [Module("composite")];
    FailedRunChangesNothing: "a failed run writes and deletes nothing of what is composed", [Module("composite")];

    // Claims
    ClaimNamesFirst: "a composite resource is created only when its claim names it", [Module("claim")];
    ClaimIsVerified: "a composite resource is written or deleted only upon a version of its claim that was verified in this term", [Module("claim")];
    RepeatedCreateLooksFirst: "a composite resource is created again only when a read past the caches found none", [Module("claim")];
    OthersCompositeIsLeftAlone: "what another claim has bound is neither written nor deleted", [Module("claim")];
    FormerClaimIsAnother: "what a former claim of the name has bound is not deleted with its successor", [Module("claim")];
    MachineryNeverCrosses: "no machinery field of a claim crosses as an author's field", [Module("claim")];
    ClaimDeletionIsSeenFirst: "no composite resource is deleted before the status of its claim says why", [Module("claim")];
    ClaimOutlivesComposite: "a claim stays until its composite resource is gone", [Module("claim")];
    ClaimOutlivesCreates: "a claim stays until no create of its composite resource can land any more", [Module("claim")];

    // Definitions
    ClaimsGoBeforeComposites: "no composite resource is deleted with its definition while the CRD of its claims is left", [Module("definition")];
    OthersCrdIsLeftAlone: "a CRD that the definition does not control is neither deleted nor waited for", [Module("definition")];
    CrdOutlivesObjects: "a CRD is deleted only when a list past the caches shows none of its objects", [Module("definition")];
    DefinitionDeletionIsSeenFirst: "nothing is deleted with a definition before its status says that it ends", [Module("definition")];
    DefinitionWaitsForUsages: "nothing is deleted with a definition while it is not known what is in use", [Module("definition")];
    InUseOutlivesDefinition: "no object is deleted with its definition that a usage protects", [Module("definition")];
    DefinitionOutlivesCrds: "a definition stays, and is served, until its CRDs are gone", [Module("definition")];

    // Usages
    UsageRecordsFirst: "a used object is labelled only when its usage names it by uid", [Module("protection")];
    UsageIsVerified: "a used object is labelled only upon a version of its usage that was verified in this term", [Module("protection")];
    UsageOutlivesUsing: "under the deletion of its controller a usage stays until the using object is gone", [Module("protection")];
    DecomposedUsageLeaves: "a usage whose controller lives goes at once", [Module("protection")];
    ControllerIsReadLive: "that the controller of a usage lives counts only when a read past the caches shows it", [Module("protection")];
    OwnerIsReadLive: "that nothing owns what is used counts only when a read past the caches shows it", [Module("protection")];
    UsageRecordIsItsOwn: "the record of a former usage, which a backup holds, says nothing of this one", [Module("protection")];
    ParentIsNotWaitedFor: "a usage does not wait for what waits for it", [Module("protection")];
    BulkDeletionKeepsOrder: "a usage without controller waits for a using object that is deleted with it", [Module("protection")];
    UsingIsOneObject: "the using object is the one with the uid that was found first", [Module("protection")];
    GoneIsReadLive: "the used or the using object is gone only when a read past the caches finds it so", [Module("protection")];
    LabelOutlivesOtherUsages: "the label of a used object stays while another usage holds it", [Module("protection")];
    UsageOutlivesLabel: "a usage stays until its used object is not held by it any more", [Module("protection")];
    LateLabelIsRejected: "a usage lets its used object go only when no write of its label can be carried out any more, or the object may not be written", [Module("protection")];
    ReadyNeedsGuard: "a usage is ready only while the guard is proved", [Module("protection")];
    ReplayBelongsToTeardown: "a refused deletion is repeated only as part of what asked for it", [Module("protection")];
    InUseIsNotDeleted: "nothing composed or claimed is deleted that a usage protects", [Module("composite"), Module("claim")];
    UsagesAreKnownFirst: "nothing composed or claimed is deleted while it is not known what is in use", [Module("composite"), Module("claim")];
    UsedKeepsItsExternal: "while a usage protects a managed resource its external resource is not deleted", [Module("failures")];
    UsageHoldsNoEarlierDeletion: "what was being deleted before the usage was made that is composed with it is deleted", [Module("protection")];
    FirstIsSelected: "of several that a selector matches the first by namespace and name is meant", [Module("protection")];
    OwnUsageGoesLast: "a usage whose using object is its composite resource is deleted after all else", [Module("composite")];
}
