-- What a holder reports of the attempt that it ends.
summary = %(summary)s, summary_truncated = %(summary_truncated)s, artifact = %(artifact)s
