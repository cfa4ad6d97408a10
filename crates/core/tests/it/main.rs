#![cfg(test)]
//! Tests of the public interface, one module per subject.

mod blind;
mod calls;
mod claims;
mod commands;
mod consent;
mod context;
mod disclosure;
mod hosts;
mod kit;
mod laws;
mod listing;
mod merge;
mod policy_access;
mod policy_code;
mod policy_resolve;
mod policy_rules;
mod policy_suggest;
mod policy_table;
mod procedure;
mod procedure_check;
mod procedure_fuzz;
mod procedure_graph;
mod procedure_kit;
mod procedure_model;
mod procedure_receipts;
mod redaction;
mod routing;
mod search;
mod search_fusion;
mod search_prior;
mod sentences;
mod session;
mod steps;
