"""Commands that change the rules: the policy, proposals and the trusted channel."""
